//! Reports of one campaign, in every format: golden, and as the formats demand.

use super::*;
use crate::cli::ReportFormat;
use crate::engine::fake::Fake;
use crate::engine::fake_programs::{Directory, MP, MP_RIGHT, SB, campaign, order, setup};
use crate::engine::{End, EngineError};
use serde_json::Value;

/// A report with everything that differs from run to run taken out.
fn report_of(fake: &Fake, runs: u64, test: &str) -> CampaignReport {
    let out = Directory::new(&format!("report-{test}"));
    let (setup, order) = (setup(ModelKind::C11), order(&out.0, runs));
    let mut report = CampaignReport::new(&setup, &order, "fake");
    report.add(campaign(fake, &setup, &order), Duration::from_millis(2500));
    for bug in &mut report.bugs {
        let name = bug.recording.as_ref().and_then(|path| path.file_name()).unwrap().to_owned();
        bug.recording = Some(std::path::Path::new("wmtrace-out").join(name));
    }
    report
}

fn written(report: &CampaignReport, format: ReportFormat) -> String {
    let shown = Shown { format, quiet: false, verbose: false };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    write(report, shown, &mut out, &mut err).unwrap();
    assert_eq!(err.is_empty(), report.error.is_none());
    let text = String::from_utf8(out).unwrap();
    assert!(text.chars().all(|char| char == '\n' || !char.is_control()), "{text}");
    text
}

#[test]
fn human() {
    let report = report_of(&Fake::new(MP), 50, "human");
    insta::assert_snapshot!(written(&report, ReportFormat::Human));
    assert_eq!(report.exit(), Exit::Bug);
    let quiet = Shown { format: ReportFormat::Human, quiet: true, verbose: false };
    let mut out = Vec::new();
    write(&report, quiet, &mut out, &mut Vec::new()).unwrap();
    insta::assert_snapshot!("quiet", String::from_utf8(out).unwrap());
}

#[test]
fn human_without_a_bug() {
    let report = report_of(&Fake::new(MP_RIGHT), 50, "clean");
    insta::assert_snapshot!(written(&report, ReportFormat::Human));
    assert_eq!(report.exit(), Exit::Clean);
}

/// The contract: docs/OUTPUT.md.
#[test]
fn json_keeps_the_contract() {
    let report = report_of(&Fake::new(MP), 50, "json");
    let text = written(&report, ReportFormat::Json);
    assert_eq!(text.lines().count(), 1);
    let json: Value = serde_json::from_str(&text).unwrap();
    for key in ["program", "arch", "engine", "model", "strategy"] {
        assert!(json[key].is_string(), "{key}");
    }
    for key in ["depth", "history", "k", "k_com", "seed", "executions", "buggy_executions", "elapsed_s"] {
        assert!(json[key].is_number(), "{key}");
    }
    assert_eq!(
        (&json["schema"], &json["elapsed_s"], &json["executions_per_s"]),
        (&2.into(), &2.5.into(), &20.0.into())
    );
    let bug = &json["bugs"][0];
    assert_eq!((&bug["kind"], &bug["certified"]), (&"race".into(), &true.into()));
    assert!(bug["count"].as_u64().unwrap() > 1 && bug["recording"].is_string() && bug["message"].is_string());
    let site = &bug["sites"][0];
    assert_eq!(
        (&site["thread"], &site["function"], &site["file"]),
        (&0.into(), &"P0".into(), &"fake.c".into())
    );
    assert_eq!((&site["line"], &site["order"], &site["op"]), (&4.into(), &"na".into(), &"store".into()));
    assert_eq!((&json["unsupported"], &json["warnings"]), (&serde_json::json!([]), &serde_json::json!([])));
}

#[test]
fn possible_races_are_warnings() {
    let fake = Fake { unsure: true, ..Fake::new(MP) };
    let report = report_of(&fake, 50, "possible");
    let json: Value = serde_json::from_str(&written(&report, ReportFormat::Json)).unwrap();
    assert_eq!(
        (&json["warnings"][0]["kind"], &json["bugs"]),
        (&"possible_race".into(), &serde_json::json!([]))
    );
    assert_eq!(json["warnings"][0]["sites"].as_array().unwrap().len(), 2);
    assert!(written(&report, ReportFormat::Human).starts_with("Possible race, in "));
    assert_eq!(report.exit(), Exit::Clean);
}

#[test]
fn what_is_unsupported_is_listed() {
    let fake = Fake { refuses_from: 0, ..Fake::new(MP) };
    let report = report_of(&fake, 50, "unsupported");
    let json: Value = serde_json::from_str(&written(&report, ReportFormat::Json)).unwrap();
    assert_eq!(json["unsupported"], serde_json::json!(["instruction xbegin at fake+0x10"]));
    assert_eq!((report.exit(), &json["executions"]), (Exit::Tool, &0.into()));
    assert_eq!(written(&report, ReportFormat::Human), "", "the error says it all");
}

#[test]
fn exit_statuses() {
    let with = |failure: Option<EngineError>, stop, bugs: bool| {
        let fake = Fake::new(if bugs { SB } else { MP_RIGHT });
        let mut report = report_of(&fake, 30, "exit");
        report.stop = stop;
        if let Some(failure) = failure {
            report.fail(failure.into());
        }
        report.exit()
    };
    assert_eq!(with(None, Stop::Done, false), Exit::Clean);
    assert_eq!(with(None, Stop::Interrupted, false), Exit::Tool);
    assert_eq!(with(None, Stop::Interrupted, true), Exit::Bug);
    assert_eq!(with(None, Stop::Time, false), Exit::Clean);
    assert_eq!(with(Some(EngineError::Input("no".into())), Stop::Failed, false), Exit::Usage);
    assert_eq!(with(Some(EngineError::Os("no".into())), Stop::Failed, true), Exit::Tool);
}

/// Nobody knows what executions that were given up would have shown: all formats say so.
#[test]
fn what_is_given_up_is_inconclusive() {
    let fake = Fake { end: End::TimedOut, ..Fake::new(MP_RIGHT) };
    let report = report_of(&fake, 5, "given-up");
    assert_eq!(report.exit(), Exit::Tool);
    let json: Value = serde_json::from_str(&written(&report, ReportFormat::Json)).unwrap();
    let given_up = &json["inconclusive"];
    assert_eq!((&given_up["count"], &given_up["first_execution"]), (&5.into(), &0.into()));
    assert_eq!(given_up["why"], "timeout: it took more than 10 s (--timeout)");
    assert_eq!(given_up["where"]["option"], "--timeout 100");
    let human = written(&report, ReportFormat::Human);
    assert!(human.starts_with("Inconclusive: 5 of 5 executions, first number 0\n  timeout: "), "{human}");
    assert!(human.contains("nothing conclusive in 5 executions; 5 inconclusive"), "{human}");
    let junit = written(&report, ReportFormat::Junit);
    assert!(junit.contains("tests=\"1\" failures=\"0\" errors=\"1\""), "{junit}");
    assert!(junit.contains("inconclusive: 5 of 5 executions"), "{junit}");
    let sarif: Value = serde_json::from_str(&written(&report, ReportFormat::Sarif)).unwrap();
    let call = &sarif["runs"][0]["invocations"][0];
    assert_eq!((&call["executionSuccessful"], &call["exitCode"]), (&false.into(), &3.into()));
    assert_eq!(call["toolExecutionNotifications"][0]["level"], "error");
    let clean = report_of(&Fake::new(MP_RIGHT), 5, "not-given-up");
    let json: Value = serde_json::from_str(&written(&clean, ReportFormat::Json)).unwrap();
    let none = serde_json::json!({"count": 0, "first_execution": null, "why": null, "where": null});
    assert_eq!(json["inconclusive"], none);
}

#[test]
fn junit() {
    let report = report_of(&Fake::new(MP), 50, "junit");
    insta::assert_snapshot!(written(&report, ReportFormat::Junit));
    let clean = written(&report_of(&Fake::new(MP_RIGHT), 5, "junit-clean"), ReportFormat::Junit);
    assert!(clean.contains("tests=\"1\" failures=\"0\" errors=\"0\""), "{clean}");
    let fake = Fake { refuses_from: 0, ..Fake::new(MP) };
    let error = written(&report_of(&fake, 5, "junit-error"), ReportFormat::Junit);
    assert!(error.contains("<testcase name=\"wmtrace\" classname=\"/opt/fake\">"), "{error}");
}

/// What SARIF 2.1.0 demands of the properties that are used: §3.13, 3.14, 3.18, 3.20, 3.27, 3.28.
#[test]
fn sarif_is_as_the_standard_says() {
    let fake = Fake { end: End::Exited(3), ..Fake::new(MP) };
    let report = report_of(&fake, 50, "sarif");
    let json: Value = serde_json::from_str(&written(&report, ReportFormat::Sarif)).unwrap();
    assert_eq!(json["version"], "2.1.0");
    let run = &json["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "wmtrace");
    assert!(run["invocations"][0]["executionSuccessful"].is_boolean());
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 2, "a race, and a wrong exit status");
    for result in results {
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(["error", "warning"].contains(&result["level"].as_str().unwrap()));
        assert!(result["message"]["text"].is_string());
        assert!(result["occurrenceCount"].as_u64().unwrap() >= 1);
        assert!(result["partialFingerprints"]["wmtrace/v1"].is_string());
        for location in result["locations"].as_array().unwrap() {
            let physical = &location["physicalLocation"];
            // The exit status is nobody's line.
            let of = if result["ruleId"] == "race" { "fake.c" } else { "file:///opt/fake" };
            assert_eq!(physical["artifactLocation"]["uri"], of);
            assert!(physical["region"]["startLine"].as_u64().unwrap() >= 1);
        }
    }
    let race = results.iter().find(|result| result["ruleId"] == "race").unwrap();
    assert_eq!(race["locations"].as_array().unwrap().len(), 1);
    assert_eq!(race["relatedLocations"][0]["id"], 1);
    assert_eq!(race["stacks"].as_array().unwrap().len(), 2);
}
