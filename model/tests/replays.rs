//! Determinism and replay on the real machine: the same seed gives the same recording, byte for byte; a
//! recording gives the same execution; what is damaged, foreign or does not fit is refused.

mod support;

use support::{parameters, run_with};
use wmtrace_model::execution::Execution;
use wmtrace_model::litmus::parse::parse;
use wmtrace_model::litmus::program::Program;
use wmtrace_model::litmus::sim::{End, Outcome};
use wmtrace_model::machine::Config;
use wmtrace_model::op::ModelKind;
use wmtrace_model::recording::{Recording, RecordingError};
use wmtrace_model::strategy::{Difference, Recorder, Replay, StrategyKind, build};

/// The tests of the corpus.
fn corpus() -> Vec<Program> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../targets/litmus");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect(folder).map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "litmus"));
    assert!(paths.len() >= 60);
    paths.iter().map(|path| parse(&std::fs::read_to_string(path).unwrap()).unwrap()).collect()
}

fn config(model: ModelKind) -> Config {
    let mut config = Config::new(model);
    // Seeds that give c11 a choice of its own.
    config.insertion = model == ModelKind::C11;
    config.max_events = 5000;
    config
}

fn record(
    program: &Program,
    model: ModelKind,
    kind: StrategyKind,
    seed: u64,
) -> (Outcome, Execution, Vec<u8>) {
    let strategy = build(kind, &parameters(seed as u32 % 4, 10, 6, 2), seed);
    let recorder = Recorder::new(strategy, Recording::new(&program.name, model, "", seed));
    let (outcome, machine) = run_with(program, config(model), recorder);
    (outcome, machine.execution().clone(), machine.strategy().recording().to_bytes())
}

#[test]
fn the_same_seed_gives_the_same_recording_and_a_recording_the_same_execution() {
    for (index, program) in corpus().iter().enumerate() {
        for model in ModelKind::ALL {
            for kind in StrategyKind::ALL {
                let seed = index as u64;
                let (outcome, execution, bytes) = record(program, model, kind, seed);
                let again = record(program, model, kind, seed);
                assert_eq!(
                    (&outcome, &execution, &bytes),
                    (&again.0, &again.1, &again.2),
                    "{}",
                    program.name
                );

                let recording = Recording::from_bytes(&bytes).expect("what was just written");
                recording.check(&program.name, model).expect("the same program and model");
                let (replayed, machine) = run_with(program, config(model), Replay::new(&recording));
                assert_eq!(replayed, outcome, "{} {model} {kind}", program.name);
                assert_eq!(machine.execution(), &execution, "{} {model} {kind}", program.name);
                assert_eq!(machine.strategy().clone().finish(), None);
            }
        }
    }
}

#[test]
fn a_damaged_or_foreign_recording_is_refused() {
    let program = &corpus()[0];
    let (_, _, bytes) = record(program, ModelKind::C11, StrategyKind::Random, 1);
    for index in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[index] ^= 0x10;
        assert!(Recording::from_bytes(&damaged).is_err(), "byte {index}");
        assert!(Recording::from_bytes(&bytes[..index]).is_err(), "only {index} bytes");
    }
    let recording = Recording::from_bytes(&bytes).expect("undamaged");
    let other = recording.check("another program", ModelKind::C11);
    assert!(matches!(other, Err(RecordingError::OtherProgram { .. })));
    let other = recording.check(&program.name, ModelKind::Tso);
    assert!(matches!(other, Err(RecordingError::OtherModel { .. })));
}

/// A recording whose program has changed since is followed up to the first difference, which is named.
#[test]
fn a_recording_of_another_program_diverges_where_it_differs() {
    let text = |order: &str| {
        format!(
            "C changed\n{{}}\nP0 (atomic_int* x, atomic_int* y) {{
                atomic_store_explicit(x, 1, memory_order_relaxed);
                atomic_store_explicit(y, 1, memory_order_{order});
             }}\nforall (true)"
        )
    };
    let (old, new) = (parse(&text("relaxed")).unwrap(), parse(&text("release")).unwrap());
    let (_, _, bytes) = record(&old, ModelKind::C11, StrategyKind::Random, 1);
    let recording = Recording::from_bytes(&bytes).expect("undamaged");
    let (outcome, _) = run_with(&new, config(ModelKind::C11), Replay::new(&recording));
    let End::Diverged(divergence) = outcome.end else { panic!("{:?}", outcome.end) };
    assert_eq!(divergence.step, 1);
    assert!(matches!(divergence.what, Difference::OtherOperation(_)), "{divergence}");
}
