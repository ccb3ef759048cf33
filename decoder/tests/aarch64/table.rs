//! `tests/tables/aarch64.txt`: one form a line, `word ; text ; effect`, decoded at 0x1000. To add one, write its word
//! and run with WMTRACE_PROMOTE=1, which fills in the rest of every line; then read the difference.

use crate::notation::compact;
use std::collections::BTreeSet;
use std::path::PathBuf;
use wmtrace_decoder::aarch64::Decoder;

const PC: u64 = 0x1000;

fn expected(decoder: &Decoder, word: &str) -> String {
    let bytes = u32::from_str_radix(word, 16).unwrap_or_else(|_| panic!("not a word: {word}")).to_le_bytes();
    let text = decoder.text(PC, &bytes).unwrap_or_else(|| "-".into());
    let effect = decoder.decode(PC, &bytes).map_or_else(|_| "unsupported".into(), |effect| compact(&effect));
    format!("{word} ; {text} ; {effect}")
}

#[test]
fn every_form_has_its_effect() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/tables/aarch64.txt");
    let old = std::fs::read_to_string(&path).expect("the table is there");
    let decoder = Decoder::new();
    let mut forms = BTreeSet::new();
    let mut new = String::new();
    for line in old.lines() {
        if line.is_empty() || line.starts_with('#') {
            new += line;
        } else {
            let word = line.split(';').next().expect("a first field").trim();
            assert!(forms.insert(word), "{word} is there twice");
            new += &expected(&decoder, word);
        }
        new += "\n";
    }
    if std::env::var_os("WMTRACE_PROMOTE").is_some() {
        std::fs::write(&path, &new).expect("the table can be written");
        return;
    }
    let wrong: Vec<_> = old.lines().zip(new.lines()).filter(|(old, new)| old != new).collect();
    for (old, new) in &wrong {
        println!("expected {old}\n   found {new}");
    }
    assert!(wrong.is_empty(), "{} lines differ; WMTRACE_PROMOTE=1 takes what was found", wrong.len());
    assert!(forms.len() >= 400, "only {} forms", forms.len());
}
