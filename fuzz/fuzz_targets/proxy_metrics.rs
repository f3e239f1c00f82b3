#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| soak::entries::proxy_metrics(bytes));
