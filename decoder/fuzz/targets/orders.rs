#![no_main]

#[path = "../../tests/fuzz/bodies.rs"]
#[allow(dead_code)]
mod bodies;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    bodies::orders(input);
});
