#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| headwater_fuzz::journal(bytes));
