//! The report as SARIF 2.1.0 (OASIS), for code scanning: a rule for each kind of bug, a result for each bug.

use super::CampaignReport;
use crate::bug::{Bug, Kind, Side};
use crate::campaign::Stop;
use crate::engine::Location;
use crate::exit::Exit;
use crate::text::shell_word;
use serde_json::{Value, json};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

pub(super) fn report(report: &CampaignReport) -> Value {
    let rule = |kind: &Kind| {
        json!({
            "id": kind.name(),
            "name": kind.title(),
            "shortDescription": {"text": kind.title()},
            "fullDescription": {"text": kind.meaning()},
            "defaultConfiguration": {"level": "error"},
        })
    };
    let mut results: Vec<Value> = report.bugs.iter().map(|bug| result(report, bug, "error")).collect();
    results.extend(report.possible.iter().map(|bug| result(report, bug, "warning")));
    let note = |level: &str, text: &str| json!({"level": level, "message": {"text": text}});
    let mut notes: Vec<Value> = report.warnings.iter().map(|text| note("warning", text)).collect();
    notes.extend(report.inconclusive.first.iter().map(|(_, given_up)| {
        let (count, why) = (report.inconclusive.count, given_up.why());
        let place = given_up.place().map(|place| format!("; {place}")).unwrap_or_default();
        let text = format!("inconclusive: {count} of {} executions: {why}{place}", report.executions);
        note(if report.shows_nothing() { "error" } else { "warning" }, &text)
    }));
    notes.extend(report.error.iter().map(|text| note("error", text)));
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "wmtrace",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": Kind::ALL.iter().map(rule).collect::<Vec<_>>(),
            }},
            "invocations": [{
                "executionSuccessful": report.error_exit == Exit::Clean
                    && report.stop != Stop::Interrupted
                    && !report.shows_nothing(),
                "exitCode": report.exit() as u8,
                "toolExecutionNotifications": notes,
            }],
            "results": results,
            "properties": {
                "program": report.program,
                "model": report.model.name(),
                "strategy": report.strategy,
                "seed": report.seed,
                "executions": report.executions,
                "inconclusive_executions": report.inconclusive.count,
            },
        }],
    })
}

fn result(report: &CampaignReport, bug: &Bug, level: &str) -> Value {
    let detail = &bug.detail;
    let index = Kind::ALL.iter().position(|kind| *kind == bug.key.kind);
    let located: Vec<&Side> = detail.sides.iter().filter(|side| side.place().is_some()).collect();
    let mut locations: Vec<Value> = located.iter().take(1).map(|side| location(report, side, None)).collect();
    if locations.is_empty() {
        // GitHub refuses the whole file for one result without a place.
        locations.push(json!({"physicalLocation": whole(report)}));
    }
    let related = located.iter().zip(0..).skip(1).map(|(side, id)| location(report, side, Some(id)));
    let stacks = located.iter().map(|side| {
        let frames =
            side.stack.iter().map(|place| json!({"location": place_of(place), "module": place.module}));
        json!({"message": {"text": side.words()}, "frames": frames.collect::<Vec<_>>()})
    });
    let text = match &bug.recording {
        Some(path) => format!("{} (wmtrace replay {})", detail.message, shell_word(path.as_os_str())),
        None => detail.message.clone(),
    };
    let mut result = json!({
        "ruleId": bug.key.kind.name(),
        "ruleIndex": index,
        "level": level,
        "message": {"text": text},
        "locations": locations,
        "relatedLocations": related.collect::<Vec<_>>(),
        "stacks": stacks.collect::<Vec<_>>(),
        "occurrenceCount": bug.count.max(1),
        "partialFingerprints": {"wmtrace/v1": fingerprint(bug)},
    });
    if let Some(reason) = &bug.suppressed {
        result["suppressions"] = json!([{"kind": "external", "justification": reason}]);
    }
    result
}

/// The same for the same bug, also in another run.
fn fingerprint(bug: &Bug) -> String {
    let text = format!("{:?}", bug.key);
    format!("{:08x}", crc32fast::hash(text.as_bytes()))
}

/// The program itself: where no line is known, that much is.
fn whole(report: &CampaignReport) -> Value {
    json!({"artifactLocation": {"uri": uri(&report.program)}, "region": {"startLine": 1}})
}

/// Where a side is. Code without lines is shown at the nearest caller that has one, or at the program.
fn location(report: &CampaignReport, side: &Side, id: Option<u32>) -> Value {
    let mut value = side.place().map(place_of).unwrap_or_default();
    if value["physicalLocation"]["region"].is_null() {
        let callers = side.stack.iter().skip(side.blamed);
        let known = callers.chain(&side.stack).find(|place| place.file.is_some() && place.line > 0);
        value["physicalLocation"] =
            known.map_or_else(|| whole(report), |place| place_of(place)["physicalLocation"].take());
    }
    value["message"] = json!({"text": side.words()});
    if let Some(id) = id {
        value["id"] = json!(id);
    }
    value
}

fn place_of(place: &Location) -> Value {
    let mut value = json!({});
    if let Some(file) = &place.file {
        let mut physical = json!({"artifactLocation": {"uri": uri(file)}});
        if place.line > 0 {
            physical["region"] = json!({"startLine": place.line});
        }
        if place.line > 0 && place.column > 0 {
            physical["region"]["startColumn"] = json!(place.column);
        }
        value["physicalLocation"] = physical;
    }
    if let Some(function) = &place.function {
        value["logicalLocations"] = json!([{"fullyQualifiedName": function, "kind": "function"}]);
    }
    value
}

/// A path as a URI: absolute ones with a scheme, and whatever has a meaning in URIs escaped.
fn uri(path: &str) -> String {
    let mut out = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b'+' => {
                out.push(byte.into());
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
