//! The report as JUnit's XML: the program is a suite, each bug a failed test of it, and a clean campaign a passed one.

use super::CampaignReport;
use crate::bug::{Bug, Where};
use crate::campaign::Stop;
use crate::text::{printable_lines, shell_word};
use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};
use std::fmt::Write as _;

pub(super) fn report(report: &CampaignReport) -> Result<String, SerializeError> {
    let mut suite = TestSuite::new(printable_lines(&report.program));
    suite.set_time(report.elapsed);
    let properties = [
        ("model", report.model.name().to_string()),
        ("strategy", report.strategy.clone()),
        ("seed", report.seed.to_string()),
        ("executions", report.executions.to_string()),
        ("buggy_executions", report.buggy.to_string()),
        ("inconclusive_executions", report.inconclusive.count.to_string()),
    ];
    for (name, value) in &properties {
        suite.add_property((*name, value.as_str()));
    }
    for bug in report.bugs.iter().filter(|bug| bug.counts()) {
        suite.add_test_case(case(report, bug));
    }
    let interrupted = (report.stop == Stop::Interrupted).then_some("interrupted");
    let given_up = report.inconclusive.first.as_ref().map(|(first, given_up)| {
        let count = report.inconclusive.count;
        let place = given_up.place().map(|place| format!("; {place}")).unwrap_or_default();
        let why = given_up.why();
        format!("inconclusive: {count} of {} executions; number {first}: {why}{place}", report.executions)
    });
    let nothing = given_up.as_deref().filter(|_| report.shows_nothing());
    if let Some(error) = report.error.as_deref().or(interrupted).or(nothing) {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message(printable_lines(error));
        let mut case = TestCase::new("wmtrace", status);
        case.set_classname(printable_lines(&report.program));
        suite.add_test_case(case);
    } else if !report.bugs.iter().any(Bug::counts) {
        let name = format!("{} executions under {}", report.executions, report.model);
        let mut case = TestCase::new(name, TestCaseStatus::success());
        case.set_classname(printable_lines(&report.program)).set_time(report.elapsed);
        suite.add_test_case(case);
    }
    let warnings: Vec<&str> = report
        .possible
        .iter()
        .map(|bug| bug.detail.message.as_str())
        .chain(given_up.as_deref())
        .chain(report.warnings.iter().map(String::as_str))
        .collect();
    if !warnings.is_empty() {
        suite.set_system_err(printable_lines(&warnings.join("\n")));
    }
    let mut all = Report::new("wmtrace");
    all.set_time(report.elapsed).add_test_suite(suite);
    all.to_string()
}

fn case(report: &CampaignReport, bug: &Bug) -> TestCase {
    let detail = &bug.detail;
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(printable_lines(&detail.message)).set_type(bug.key.kind.name());
    let mut text = String::new();
    // Writing to a string cannot fail.
    for side in &detail.sides {
        let _ = writeln!(text, "{}", side.words());
        for place in &side.stack {
            let function = place.function.as_deref().unwrap_or("?");
            let _ = writeln!(text, "  {function} at {}", Where(place));
        }
    }
    for place in &bug.places {
        let _ = writeln!(text, "also: {}", place.message);
    }
    if let Some(path) = &bug.recording {
        let _ = writeln!(text, "wmtrace replay {}", shell_word(path.as_os_str()));
    }
    status.set_description(printable_lines(&text));
    let place = detail.sides.iter().find_map(|side| side.place());
    let name = match place {
        Some(place) => format!("{} at {}", bug.key.kind.title(), Where(place)),
        None => bug.key.kind.title().to_string(),
    };
    let mut case = TestCase::new(printable_lines(&name), status);
    case.set_classname(printable_lines(&report.program));
    let output = |bytes: &[u8]| printable_lines(&String::from_utf8_lossy(bytes));
    case.set_system_out(output(&detail.stdout)).set_system_err(output(&detail.stderr));
    case
}
