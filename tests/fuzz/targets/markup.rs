//! The markup inside a directive's fence.
#![no_main]

use levain::items::Directive;
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let inside = String::from_utf8_lossy(bytes);
    let text = format!("# A directive\n\n```xml\n<directive name=\"a\" version=\"1\">\n{inside}\n</directive>\n```\n\nDo it.\n");
    let (directive, problems) = Directive::parse(&text, Path::new("a.md"));
    let lines = u32::try_from(text.lines().count()).unwrap() + 1;
    for problem in problems {
        assert!(problem.line.unwrap_or(1) <= lines, "line {:?} of {lines}", problem.line);
    }
    let _prompt = directive.prompt(&directive.defaults());
});
