#![no_main]

#[path = "../../../model/tests/hostile/bodies.rs"]
#[allow(dead_code)]
mod bodies;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    bodies::recording(input);
});
