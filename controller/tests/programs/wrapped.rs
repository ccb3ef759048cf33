//! What is started first is not what is tested: the program that is finally executed decides the model.

use crate::build::{Built, GNU_O2};
use crate::run::Directory;
use crate::source::{Source, Variant};

/// The model, the warnings, and the kinds of bugs of a command.
fn tested(options: &str, command: &[&str]) -> (String, Vec<String>, Vec<String>) {
    let built =
        Built { path: command[0].into(), args: command[1..].iter().map(ToString::to_string).collect() };
    let report = Directory::new("wrapped").report(options, &built).unwrap();
    let message = |it: &serde_json::Value| it["message"].as_str().unwrap().to_owned();
    let warnings = report.value()["warnings"].as_array().unwrap().iter().map(message).collect();
    let kinds = report.kinds().into_iter().map(str::to_owned).collect();
    assert_eq!(report.value()["model"], report.value()["checked"]["model"]);
    (report.value()["model"].as_str().unwrap().to_owned(), warnings, kinds)
}

#[test]
fn the_program_that_is_executed_decides_the_model() {
    let source = Source::named("verdicts/race.cpp");
    let with = source.build(Variant::Buggy, GNU_O2).path;
    let without = source.compile(GNU_O2, "-DBUGGY -g0");
    let (with, without) = (with.to_str().unwrap(), without.to_str().unwrap());
    let script = format!("exec {with}");
    for command in [vec!["env", with], vec!["sh", "-c", script.as_str()]] {
        for jobs in [1, 2] {
            let (model, warnings, kinds) = tested(&format!("-n 100 -j {jobs}"), &command);
            assert_eq!((model.as_str(), kinds), ("c11", vec!["race".to_owned()]), "{command:?}");
            let said = |it: &&String| it.contains(&format!("executes {with}, which is tested"));
            assert_eq!(warnings.iter().filter(said).count(), 1, "{warnings:?}");
        }
    }
    let (model, warnings, _) = tested("-n 5", &["env", without]);
    assert_eq!((model.as_str(), warnings.len()), ("tso", 1), "{warnings:?}");
    // Who asks for a model gets it, and who names the program has nothing to be told.
    let (model, warnings, _) = tested("-n 5 --model sc", &["env", with]);
    assert_eq!((model.as_str(), warnings.len()), ("sc", 0), "{warnings:?}");
    assert_eq!(tested("-n 100", &[with]).1, Vec::<String>::new());
}
