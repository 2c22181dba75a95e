//! Server-sent events, cut anywhere.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| levain::providers::fuzzing::sse(bytes));
