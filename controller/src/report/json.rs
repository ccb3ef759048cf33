//! The report as one JSON object: docs/OUTPUT.md says what is in it.

use super::CampaignReport;
use crate::bug::{Bug, Further, Side, Where};
use crate::campaign::Stop;
use crate::campaign::limits::{GivenUp, Inconclusive};
use crate::engine::evidence::Standing;
use crate::engine::{Location, ThreadState};
use crate::events::EventLine;
use serde_json::{Value, json};
use wmtrace_decoder::orders::Source;
use wmtrace_model::order::Order;

/// The object, on one line.
pub(super) fn report(report: &CampaignReport) -> Value {
    let stop = match report.stop {
        Stop::Done => "done",
        Stop::FirstBug => "first_bug",
        Stop::Time => "time",
        Stop::Interrupted => "interrupted",
        Stop::Failed => "error",
    };
    let mut warnings: Vec<Value> = report.possible.iter().map(possible_race).collect();
    warnings.extend(report.warnings.iter().map(|message| json!({"kind": "warning", "message": message})));
    let mut object = json!({
        "schema": 2,
        "program": report.program,
        "args": report.args,
        "arch": report.arch,
        "engine": report.engine,
        "model": report.model.name(),
        "strategy": report.strategy,
        "depth": report.depth,
        "depth_schedule": report.depth_schedule,
        "history": report.history,
        "k": report.k,
        "k_com": report.k_com,
        "seed": report.seed,
        "executions": report.executions,
        "buggy_executions": report.buggy,
        "elapsed_s": rounded(report.elapsed.as_secs_f64()),
        "executions_per_s": rounded(report.rate()),
        "events_per_execution": rounded(report.events_each()),
        "checked": checked(report),
        "inconclusive": inconclusive(report),
        "bugs": report.bugs.iter().map(bug).collect::<Vec<_>>(),
        "unsupported": report.unsupported,
        "warnings": warnings,
        "stopped": stop,
        "interrupted": report.stop == Stop::Interrupted,
        "error": report.error,
    });
    if report.verified {
        object["verify"] = match &report.difference {
            Some(difference) => json!({
                "same": false,
                "execution": difference.execution,
                "seed": difference.seed,
                "event": difference.event,
                "message": difference.what,
                "causes": difference.causes,
            }),
            None => json!({"same": true}),
        };
    }
    object
}

/// Three digits are more than measurements are good for.
fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

fn bug(bug: &Bug) -> Value {
    let detail = &bug.detail;
    json!({
        "kind": bug.key.kind.name(),
        "count": bug.count,
        "first_execution": bug.first_execution,
        "strategy": bug.strategy.name(),
        "depth": bug.depth,
        "message": detail.message,
        "cause": detail.cause.name,
        "places": bug.places.iter().map(further).collect::<Vec<_>>(),
        "suppressed": bug.suppressed.is_some(),
        "suppressed_because": bug.suppressed,
        "recording": bug.recording.as_ref().map(|path| path.to_string_lossy()),
        "files": bug.files.as_ref().map(|path| path.to_string_lossy()),
        "sites": detail.sides.iter().map(site).collect::<Vec<_>>(),
        "confirmed": bug.confirmation.replayed,
        "on_this_processor": bug.confirmation.here.name(),
        "tried": bug.confirmation.tried,
        "owner": detail.owner.name(),
        "certified": detail.certified,
        "evidence": if detail.assumed.is_empty() { "sure" } else { "strengthened" },
        "strengthened_at": detail.assumed,
        "threads": detail.threads.iter().map(thread).collect::<Vec<_>>(),
        "events": detail.last.iter().map(event).collect::<Vec<_>>(),
        "stdout": String::from_utf8_lossy(&detail.stdout),
        "stderr": String::from_utf8_lossy(&detail.stderr),
        "output_truncated": detail.truncated,
    })
}

/// Where else the cause shows.
fn further(place: &Further) -> Value {
    json!({
        "message": place.message,
        "count": place.count,
        "first_execution": place.first_execution,
        "sites": place.sides.iter().map(site).collect::<Vec<_>>(),
    })
}

fn possible_race(bug: &Bug) -> Value {
    json!({
        "kind": "possible_race",
        "message": bug.detail.message,
        "count": bug.count,
        "first_execution": bug.first_execution,
        "sites": bug.detail.sides.iter().map(site).collect::<Vec<_>>(),
    })
}

/// The executions that were given up, and what is known of the first.
fn inconclusive(report: &CampaignReport) -> Value {
    let Inconclusive { count, first } = &report.inconclusive;
    let place = |given_up: &GivenUp| {
        let at = given_up.busiest.as_ref().map(|it| &it.at);
        json!({
            "module": at.map(|at| &at.module),
            "function": at.and_then(|at| at.function.as_deref()),
            "file": at.and_then(|at| at.file.as_deref()),
            "line": at.map(|at| at.line).filter(|line| *line > 0),
            "place": at.map(|at| Where(at).to_string()),
            "message": given_up.place(),
            "option": given_up.option(),
        })
    };
    json!({
        "count": count,
        "first_execution": first.as_ref().map(|(execution, _)| execution),
        "why": first.as_ref().map(|(_, given_up)| given_up.why()),
        "where": first.as_ref().map(|(_, given_up)| place(given_up)),
    })
}

/// What a verdict is worth: what was looked at, and what of it is known.
fn checked(report: &CampaignReport) -> Value {
    let (orders, fences) = (report.ledger.tally(false), report.ledger.tally(true));
    let module = |(path, managed): (&String, &bool)| {
        let known = if report.ledger.is_known(path) && *managed { "known" } else { "unknown" };
        json!({"path": path, "managed": managed, "orders": known})
    };
    json!({
        "model": report.model.name(),
        "because": report.because,
        "races": report.races,
        "orders": {"known": orders.known, "policy": orders.policy, "strengthened": orders.strengthened},
        "fences": {"placed": fences.known, "strengthened": fences.strengthened},
        "modules": report.ledger.modules.iter().map(module).collect::<Vec<_>>(),
    })
}

fn site(side: &Side) -> Value {
    let place = side.place();
    json!({
        "thread": side.thread.map(|thread| thread.0),
        "function": place.and_then(|place| place.function.as_deref()),
        "file": place.and_then(|place| place.file.as_deref()),
        "line": place.map(|place| place.line).filter(|line| *line > 0),
        "column": place.map(|place| place.column).filter(|column| *column > 0),
        "module": place.map(|place| place.module.as_str()),
        "offset": place.map(|place| format!("{:#x}", place.offset)),
        "order": side.order.map(Order::name),
        "order_from": side.order_from.map(Source::name),
        "evidence": side.standing.map(Standing::name),
        "op": side.op,
        "unsure": side.unsure,
        "volatile": side.volatile,
        "address": side.memory.map(|(addr, _)| format!("{addr:#x}")),
        "bytes": side.memory.map(|(_, len)| len),
        "instruction": Some(&side.instruction).filter(|text| !text.is_empty()),
        "stack": side.stack.iter().map(frame).collect::<Vec<_>>(),
        "came_from": side.came_from.as_ref().map(frame),
    })
}

fn thread(state: &ThreadState) -> Value {
    json!({
        "thread": state.thread.0,
        "doing": state.doing,
        "stack": state.stack.iter().map(frame).collect::<Vec<_>>(),
    })
}

fn frame(place: &Location) -> Value {
    json!({
        "function": place.function,
        "file": place.file,
        "line": Some(place.line).filter(|line| *line > 0),
        "column": Some(place.column).filter(|column| *column > 0),
        "module": place.module,
        "offset": format!("{:#x}", place.offset),
        "inlined": place.inlined,
    })
}

fn event(line: &EventLine) -> Value {
    let from = line.order_from.map(Source::name);
    let evidence = line.order_from.map(|_| line.standing.name());
    json!({
        "id": line.id.0,
        "thread": line.thread.0,
        "text": line.text,
        "at": line.place,
        "order_from": from,
        "evidence": evidence,
    })
}
