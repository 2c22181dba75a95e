//! Whole files of every kind of item, and their signatures.
#![no_main]

use levain::items::signature::{self, SignatureLayout};
use levain::items::{Directive, Knowledge, Tool};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let path = |name| Path::new(name);
    let (directive, _) = Directive::parse(&text, path("a.md"));
    let _prompt = directive.prompt(&directive.defaults());
    let _knowledge = Knowledge::parse(&text, path("a.md"));
    for file in ["a.py", "a.yaml", "a.js", "a.ts", "a.sh"] {
        let _tool = Tool::parse(&text, path(file));
    }
    if let Some(layout) = SignatureLayout::of(path("a.md")) {
        let _verdict = signature::verify(&text, layout, &signature::TrustStore::default());
    }
});
