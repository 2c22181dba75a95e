//! Answers as they are shown while they grow.
#![no_main]

use levain::ui::bench::Document;
use levain::ui::theme::Role;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // As the transcript does.
    let text = String::from_utf8_lossy(bytes).replace('\r', "");
    let mut grown = Document::new(40, Role::Markdown, true);
    // Each step draws what is not whole again, up to 32 KB of it: few steps for a long text, or the fuzzer calls it hung.
    let step = 7.max(text.len() / 512);
    let mut end = 0;
    while end < text.len() {
        end = text.ceil_char_boundary((end + step).min(text.len()));
        grown.grow(&text[..end], false);
    }
    grown.grow(&text, true);
    let mut whole = Document::new(40, Role::Markdown, true);
    whole.grow(&text, true);
    assert_eq!(grown.rows(), whole.rows(), "a growing text and the whole differ in height");
});
