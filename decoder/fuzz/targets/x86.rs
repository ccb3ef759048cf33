#![no_main]

#[path = "../../tests/fuzz/bodies.rs"]
#[allow(dead_code)]
mod bodies;

use wmtrace_decoder::x86::Decoder;

thread_local! {
    static DECODER: Decoder = Decoder::new();
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    DECODER.with(|decoder| bodies::x86(decoder, input));
});
