//! The corpus, damaged: whatever is read from it is run and reported, with tiny limits. Nothing panics, hangs or grows
//! without bound, and no execution fails its certificate.

use super::tests::options;
use super::{Failure, human, json, run};
use std::path::Path;
use wmtrace_model::litmus::parse::parse;
use wmtrace_model::rng::Rng;

/// Damaged texts that are tried: a few seconds' worth.
const ROUNDS: u64 = 40_000;

const RUNS: [&[&str]; 6] = [
    &["--model", "sc", "--dot", "--max-executions", "10", "--unroll", "1", "--max-events", "50"],
    &["--model", "tso", "--max-executions", "10", "--unroll", "0", "--max-events", "50"],
    &["--model", "pso", "-v", "--max-executions", "10", "--unroll", "1", "--max-events", "50"],
    &["--model", "pslo", "--strategy", "pct", "-n", "3", "--max-events", "100"],
    &["--mo-insertion", "--max-executions", "10", "--unroll", "1", "--max-events", "50"],
    &["--strategy", "pctwm", "-y", "2", "-n", "3", "--max-events", "100"],
];

/// Every test in the corpus and the demo, in the order of their names.
fn corpus() -> Vec<String> {
    let targets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../targets");
    let mut files: Vec<_> = ["litmus", "demo"]
        .iter()
        .flat_map(|directory| std::fs::read_dir(targets.join(directory)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "litmus"))
        .collect();
    files.sort();
    files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect()
}

/// The text in words, spaces and single characters.
fn tokens(text: &str) -> Vec<String> {
    let in_word = |char: char| char.is_alphanumeric() || char == '_';
    let mut pieces = vec![String::new()];
    let mut last = ' ';
    for char in text.chars() {
        if !(in_word(last) && in_word(char)) {
            pieces.push(String::new());
        }
        pieces.last_mut().expect("never empty").push(char);
        last = char;
    }
    pieces
}

/// Words that mean something, for others that do.
const WORDS: [&str; 10] = [
    "0",
    "-1",
    "255",
    "99999999999",
    "x",
    "y",
    "r0",
    "while",
    "memory_order_seq_cst",
    "memory_order_relaxed",
];

/// One change: a byte, a cut, a token or a line moved, repeated, dropped, replaced, or taken from another test.
fn damage(text: &mut String, other: &str, rng: &mut Rng) {
    let kind = rng.below(12);
    if kind == 0 {
        let mut bytes = std::mem::take(text).into_bytes();
        if !bytes.is_empty() {
            let at = rng.below(bytes.len());
            bytes[at] ^= 1 << rng.below(8);
        }
        *text = String::from_utf8_lossy(&bytes).into_owned();
        return;
    }
    if kind == 1 {
        let cut = text.char_indices().nth(rng.below(text.len() + 1)).map_or(text.len(), |(at, _)| at);
        text.truncate(cut);
        return;
    }
    let split = |text: &str| match kind {
        // Statements are lines in the corpus: what comes out often is a test again.
        6.. => text.split_inclusive('\n').map(String::from).collect(),
        _ => tokens(text),
    };
    let (mut pieces, foreign) = (split(text), split(other));
    if pieces.is_empty() || foreign.is_empty() {
        return;
    }
    let (a, b) = (rng.below(pieces.len()), rng.below(pieces.len()));
    match kind {
        2 | 6 => drop(pieces.remove(a)),
        3 | 7 | 8 => pieces.swap(a, b),
        4 | 9 | 10 => pieces.insert(a, pieces[b].clone()),
        5 => pieces[a] = WORDS[rng.below(WORDS.len())].to_string(),
        _ => {
            let from = rng.below(foreign.len());
            let to = (from + rng.below(4)).min(foreign.len());
            drop(pieces.splice(a..a, foreign[from..to].iter().cloned()));
        }
    }
    *text = pieces.concat();
}

#[test]
fn damaged_tests_are_refused_or_run() {
    let corpus = corpus();
    assert!(corpus.len() > 60);
    let options = RUNS.map(options);
    let mut rng = Rng::new(1);
    let (mut refused, mut ran) = (0, 0);
    for round in 0..ROUNDS {
        let mut text = corpus[rng.below(corpus.len())].clone();
        for _ in 0..=rng.below(3) {
            damage(&mut text, &corpus[rng.below(corpus.len())], &mut rng);
        }
        let Ok(program) = parse(&text) else {
            refused += 1;
            continue;
        };
        ran += 1;
        let options = &options[(round % RUNS.len() as u64) as usize];
        match run::explore(options, &program) {
            Ok(tally) => {
                assert!(human::report(options, "f", &program, &tally).len() < 1 << 20, "{text}");
                let mut report = json::Report::new(options);
                report.add("f", &program, &tally);
                assert!(serde_json::to_string(&report).unwrap().len() < 1 << 20, "{text}");
            }
            Err(Failure::Tool { message, detail }) => panic!("{message}\n{detail}\n{options:?}\n{text}"),
            Err(other) => panic!("{other:?}"),
        }
    }
    // Most changes break a test (all but 13 % of them do); those that do not are what this is about.
    assert!(refused > ROUNDS / 10 && ran > ROUNDS / 10, "{refused} refused, {ran} run");
}
