//! Hostile litmus tests and recordings: the bodies of the fuzz targets in `decoder/fuzz`, a bounded number of times on
//! mutated real input, from a fixed seed. (`model/src/litmus/parse/robustness.rs` has what is known to be nasty.)

mod bodies;

use wmtrace_model::op::{Agent, ModelKind, ThreadId};
use wmtrace_model::recording::{Recording, StepRecord, ValueRecord};
use wmtrace_model::rng::Rng;

/// Some bytes changed, some removed, some doubled.
fn mutate(original: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..1 + rng.below(4) {
        if bytes.is_empty() {
            break;
        }
        let at = rng.below(bytes.len());
        match rng.below(4) {
            0 => bytes[at] = rng.bits() as u8,
            1 => bytes[at] ^= 1 << rng.below(8),
            2 => drop(bytes.drain(at..bytes.len().min(at + rng.below(8)))),
            _ => {
                let piece = bytes[at..bytes.len().min(at + 1 + rng.below(16))].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
    bytes
}

#[test]
fn mutated_litmus_tests() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../targets/litmus");
    let mut files: Vec<_> = std::fs::read_dir(directory)
        .expect("the corpus")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "litmus"))
        .collect();
    files.sort();
    assert!(files.len() > 100);
    let mut rng = Rng::new(1);
    let (mut good, mut all) = (0, 0);
    for path in files {
        let original = std::fs::read(&path).expect("readable");
        assert!(bodies::litmus(&original), "{}", path.display());
        for _ in 0..200 {
            all += 1;
            good += u32::from(bodies::litmus(&mutate(&original, &mut rng)));
        }
    }
    // Changes in names and numbers are harmless: both outcomes must be seen.
    assert!(good > all / 100 && good < all - all / 100, "{good} of {all}");
}

#[test]
fn mutated_recordings() {
    let mut recording = Recording::new("program", ModelKind::C11, "options", 7);
    for thread in 0..40 {
        let agent = Agent::Thread(ThreadId(thread % 4));
        recording.steps.push(StepRecord { agent, fingerprint: 99, values: thread % 2 });
        if thread % 2 == 1 {
            recording.values.push(ValueRecord { count: 3, chosen: 1 });
        }
    }
    let bytes = recording.to_bytes();
    // Without the header and the checksum.
    let payload = &bytes[18..bytes.len() - 4];
    assert!(bodies::recording(payload));
    let mut rng = Rng::new(1);
    let rounds = 50_000;
    let good = (0..rounds).filter(|_| bodies::recording(&mutate(payload, &mut rng))).count();
    assert!(good > rounds / 100 && good < rounds - rounds / 100, "{good} of {rounds}");
}
