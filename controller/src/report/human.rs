//! The report for people. Whatever comes from the program is made safe for a terminal.

use super::CampaignReport;
use super::source::Sources;
use crate::bug::{Bug, Kind, Where};
use crate::campaign::Stop;
use crate::cli::Shown;
use crate::engine::Location;
use crate::text::{Printable, shell_word};
use std::fmt::{self, Write as _};
use wmtrace_model::op::{ModelKind, ThreadId};
use wmtrace_model::strategy::StrategyKind;

/// Frames of a stack, lines of output, and events of a thread that are shown without `-v`.
const FRAMES: usize = 12;
const LINES: usize = 20;
const EVENTS: usize = 6;

/// The report, with a newline at its end.
pub(super) fn report(report: &CampaignReport, shown: Shown) -> String {
    let mut human = Human { out: String::new(), sources: Sources::default(), verbose: shown.verbose };
    // Writing to a string cannot fail.
    let _ = if shown.quiet { human.short(report) } else { human.full(report) };
    human.out
}

struct Human {
    out: String,
    sources: Sources,
    verbose: bool,
}

impl Human {
    /// One line per bug.
    fn short(&mut self, report: &CampaignReport) -> fmt::Result {
        for bug in &report.bugs {
            let (kind, message) = (bug.key.kind.name(), Printable(&bug.detail.message));
            write!(self.out, "{kind}: {message}")?;
            if let Some(path) = &bug.recording {
                write!(self.out, " [{}]", Printable(&path.to_string_lossy()))?;
            }
            self.out.push('\n');
        }
        Ok(())
    }

    fn full(&mut self, report: &CampaignReport) -> fmt::Result {
        for (number, bug) in (1..).zip(&report.bugs) {
            self.bug(number, bug, report)?;
            self.out.push('\n');
        }
        for bug in &report.possible {
            let (message, count) = (Printable(&bug.detail.message), executions(bug.count));
            writeln!(self.out, "Possible race, in {count}: {message}")?;
            let why = "an access may be atomic, or a load that only the compiler makes: --races on calls this a bug, and --orders can \
                 tell that it is none";
            writeln!(self.out, "  {why}\n")?;
        }
        for warning in &report.warnings {
            writeln!(self.out, "Warning: {}", Printable(warning))?;
        }
        self.summary(report)
    }

    fn summary(&mut self, report: &CampaignReport) -> fmt::Result {
        let bugs = match report.bugs.len() {
            0 => "no bug".to_string(),
            1 => "1 bug".to_string(),
            count => format!("{count} bugs"),
        };
        let how = match report.stop {
            Stop::Done => "",
            Stop::FirstBug => "; stopped at the first (--keep-going goes on)",
            Stop::Time => "; time is over",
            Stop::Interrupted => "; interrupted",
            Stop::Failed => "; stopped by an error",
        };
        let CampaignReport { model, strategy, seed, executions: count, .. } = report;
        write!(self.out, "{}: {bugs} in {}{how}", Printable(&report.program), executions(*count))?;
        writeln!(
            self.out,
            "\n  {model}, {strategy}, seed {seed}; {:.1} s, {:.1} executions/s, {:.1} events each",
            report.elapsed.as_secs_f64(),
            report.rate(),
            report.events_each(),
        )?;
        self.checked(report)?;
        if report.verified && report.difference.is_none() && report.executions > 0 {
            writeln!(self.out, "  each execution was run twice, and was the same both times")?;
        }
        Ok(())
    }

    /// What the verdict is worth.
    fn checked(&mut self, report: &CampaignReport) -> fmt::Result {
        let (orders, fences) = (report.ledger.tally(false), report.ledger.tally(true));
        let all = orders.known + orders.policy + orders.strengthened;
        if all == 0 || report.model != ModelKind::C11 {
            return Ok(());
        }
        let races = if report.races { "races were looked for" } else { "races were not looked for" };
        write!(self.out, "  {races}; orders known of {} of {all} atomic accesses", orders.known)?;
        let strengthened = orders.strengthened + fences.strengthened;
        if fences.known > 0 {
            write!(self.out, ", {} without an instruction placed", plural(fences.known, "fence"))?;
        }
        if strengthened > 0 {
            write!(
                self.out,
                "\n  strengthened: {} and {} of fences (fences may be there that left no trace: behaviour may be missed)",
                plural(orders.strengthened, "order"),
                plural(fences.strengthened, "place"),
            )?;
        }
        self.out.push('\n');
        Ok(())
    }

    fn bug(&mut self, number: usize, bug: &Bug, report: &CampaignReport) -> fmt::Result {
        let detail = &bug.detail;
        let Bug { count, first_execution, depth, .. } = bug;
        let of = executions(report.executions);
        writeln!(self.out, "Bug {number}: {}", bug.key.kind.title())?;
        writeln!(self.out, "  {}", Printable(&detail.message))?;
        let by = match bug.strategy {
            strategy @ StrategyKind::PlaceWm if *depth == 0 => format!("{strategy}, aimed"),
            strategy @ (StrategyKind::Pctwm | StrategyKind::PlaceWm | StrategyKind::Pct) => {
                format!("{strategy} at depth {depth}")
            }
            strategy => strategy.to_string(),
        };
        writeln!(self.out, "  in {count} of {of}, first in number {first_execution} ({by})")?;
        if !detail.assumed.is_empty() {
            let places = Printable(&detail.assumed.join(", ")).to_string();
            writeln!(self.out, "  evidence: orders are not known well, and taken to be strong, at {places}")?;
        }
        for side in &detail.sides {
            // Whoever waits is shown with the other threads, below.
            if matches!(bug.key.kind, Kind::Deadlock | Kind::Livelock) {
                break;
            }
            writeln!(self.out, "\n  {}", side.words())?;
            if !side.instruction.is_empty() {
                writeln!(self.out, "    {}", Printable(&side.instruction))?;
            }
            self.stack(&side.stack, side.blamed)?;
        }
        let shown = |thread: ThreadId| detail.sides.iter().any(|side| side.thread == Some(thread));
        for state in &detail.threads {
            let stuck = matches!(bug.key.kind, Kind::Deadlock | Kind::Livelock | Kind::Timeout);
            if stuck || !shown(state.thread) {
                writeln!(self.out, "\n  {} {}", state.thread, Printable(&state.doing))?;
                self.stack(&state.stack, 0)?;
            }
        }
        self.events(bug)?;
        self.output("standard output", &detail.stdout)?;
        self.output("standard error", &detail.stderr)?;
        if detail.truncated {
            writeln!(self.out, "  (the program has written more than wmtrace keeps)")?;
        }
        match &bug.recording {
            Some(path) => {
                let path = shell_word(path.as_os_str());
                writeln!(self.out, "\n  again:   wmtrace replay {path}")?;
                writeln!(self.out, "  explain: wmtrace explain {path}")
            }
            None => Ok(()),
        }
    }

    fn stack(&mut self, stack: &[Location], blamed: usize) -> fmt::Result {
        let shown = if self.verbose { stack.len() } else { FRAMES.max(blamed + 1) };
        for (number, place) in stack.iter().enumerate().take(shown) {
            let function = place.function.as_deref().unwrap_or("?");
            let inlined = if place.inlined { " (inlined)" } else { "" };
            let at = Where(place).to_string();
            writeln!(self.out, "    #{number} {} at {}{inlined}", Printable(function), Printable(&at))?;
            // The text of the place itself; of callers only for those who ask.
            if (number == blamed || self.verbose)
                && let Some(text) = self.sources.line(place)
            {
                writeln!(self.out, "       {:>5} | {}", place.line, Printable(&text.replace('\t', "    ")))?;
            }
        }
        if stack.len() > shown {
            writeln!(self.out, "    … {} more (-v)", stack.len() - shown)?;
        }
        Ok(())
    }

    fn events(&mut self, bug: &Bug) -> fmt::Result {
        let last = &bug.detail.last;
        if last.is_empty() {
            return Ok(());
        }
        let most = if self.verbose { usize::MAX } else { EVENTS };
        writeln!(self.out, "\n  last events of each thread")?;
        let mut threads: Vec<ThreadId> = last.iter().map(|line| line.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        for thread in threads {
            let of_thread: Vec<_> = last.iter().filter(|line| line.thread == thread).collect();
            for line in &of_thread[of_thread.len().saturating_sub(most)..] {
                let id = line.id.to_string();
                writeln!(self.out, "    {thread:<4} {id:<6} {:<44} {}", line.text, Printable(&line.place))?;
            }
        }
        Ok(())
    }

    fn output(&mut self, name: &str, bytes: &[u8]) -> fmt::Result {
        if bytes.is_empty() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(bytes);
        let lines: Vec<&str> = text.lines().collect();
        let left_out = if self.verbose { 0 } else { lines.len().saturating_sub(LINES) };
        writeln!(self.out, "\n  {name}")?;
        if left_out > 0 {
            writeln!(self.out, "    | … {left_out} more lines before (-v)")?;
        }
        for line in &lines[left_out..] {
            writeln!(self.out, "    | {}", Printable(&line.replace('\t', "    ")))?;
        }
        Ok(())
    }
}

/// A number of executions, in words.
fn executions(count: u64) -> String {
    format!("{count} execution{}", if count == 1 { "" } else { "s" })
}

/// `1 fence`, `2 fences`.
fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
