//! Whole answers of every wire form, and tool calls in words. The first byte chooses the form.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| levain::providers::fuzzing::answer(bytes));
