#![no_main]

use headwater_protocol::Framing;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| headwater_fuzz::frames(Framing::Sse, bytes));
