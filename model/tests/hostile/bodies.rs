//! What is done with hostile input, whoever makes it: the bounded runs of this test, or the targets of `decoder/fuzz`
//! (which include this file). Each body takes any bytes, and must neither panic nor hang.

use wmtrace_model::litmus::parse::parse;
use wmtrace_model::recording::Recording;

/// A litmus test. Whether it is one.
pub(crate) fn litmus(input: &[u8]) -> bool {
    parse(&String::from_utf8_lossy(input)).is_ok()
}

/// A recording: the bytes as they are, and as the payload of a file whose length and checksum are right, which no
/// fuzzer guesses. Whether the payload is one.
pub(crate) fn recording(input: &[u8]) -> bool {
    let _ = Recording::from_bytes(input);
    let mut file = b"wmtrec\r\n\x01\x00".to_vec();
    file.extend((input.len() as u64).to_le_bytes());
    file.extend(input);
    let crc = crc32fast::hash(&file);
    file.extend(crc.to_le_bytes());
    match Recording::from_bytes(&file) {
        Err(_) => false,
        Ok(recording) => {
            assert_eq!(Recording::from_bytes(&recording.to_bytes()).as_ref(), Ok(&recording));
            true
        }
    }
}
