//! The report for people. Whatever comes from the program is made safe for a terminal.

use super::CampaignReport;
use super::source::Sources;
use crate::bug::{Bug, Kind, Where};
use crate::campaign::Stop;
use crate::campaign::confirm::{Confirmation, Here};
use crate::campaign::owner::Owner;
use crate::campaign::run::Output;
use crate::campaign::setup::NO_DEBUG_INFORMATION;
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
/// Further places of one cause.
const PLACES: usize = 8;

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
        for bug in report.bugs.iter().filter(|bug| bug.counts()) {
            let (kind, message) = (bug.key.kind.name(), Printable(&bug.detail.message));
            write!(self.out, "{kind}: {message}")?;
            if let Some(path) = &bug.recording {
                write!(self.out, " [{}]", Printable(&path.to_string_lossy()))?;
            }
            self.out.push('\n');
        }
        if let Some((_, given_up)) = &report.inconclusive.first {
            let (count, of) = (report.inconclusive.count, executions(report.executions));
            writeln!(self.out, "inconclusive: {count} of {of}: {}", Printable(&given_up.why()))?;
        }
        Ok(())
    }

    fn full(&mut self, report: &CampaignReport) -> fmt::Result {
        for (number, bug) in (1..).zip(report.bugs.iter().filter(|bug| bug.counts())) {
            self.bug(number, bug, report)?;
            self.out.push('\n');
        }
        for bug in &report.bugs {
            let Some(reason) = &bug.suppressed else { continue };
            let (kind, count) = (bug.key.kind.title(), executions(bug.count));
            writeln!(self.out, "Suppressed, in {count}: {kind}: {}", Printable(&bug.detail.message))?;
            writeln!(self.out, "  because: {}\n", Printable(reason))?;
        }
        for bug in &report.possible {
            let (message, count) = (Printable(&bug.detail.message), executions(bug.count));
            writeln!(self.out, "Possible race, in {count}: {message}")?;
            let why = "an access may be atomic, or a load that only the compiler makes: --races on calls this a bug, and --orders can \
                 tell that it is none";
            writeln!(self.out, "  {why}\n")?;
        }
        self.inconclusive(report)?;
        // A bug is shown with the output of its own execution.
        let Output { stdout, stderr, truncated } = &report.output;
        if self.verbose && report.bugs.is_empty() && !(stdout.is_empty() && stderr.is_empty()) {
            writeln!(self.out, "The program wrote, in its first execution:")?;
            self.written(stdout, stderr, *truncated)?;
            self.out.push('\n');
        }
        for warning in &report.warnings {
            writeln!(self.out, "Warning: {}", Printable(warning))?;
        }
        self.summary(report)
    }

    /// Executions that were given up: no bugs, and no evidence that there is none.
    fn inconclusive(&mut self, report: &CampaignReport) -> fmt::Result {
        let Some((first, given_up)) = &report.inconclusive.first else { return Ok(()) };
        let (count, of) = (report.inconclusive.count, executions(report.executions));
        writeln!(self.out, "Inconclusive: {count} of {of}, first number {first}")?;
        for line in [Some(given_up.why()), given_up.place(), Some(given_up.advice())].into_iter().flatten() {
            writeln!(self.out, "  {}", Printable(&line))?;
        }
        self.out.push('\n');
        Ok(())
    }

    fn summary(&mut self, report: &CampaignReport) -> fmt::Result {
        let suppressed = report.bugs.iter().filter(|bug| !bug.counts()).count();
        let mut bugs = match report.bugs.len() - suppressed {
            0 if report.shows_nothing() => "nothing conclusive".to_string(),
            0 => "no bug".to_string(),
            1 => "1 bug".to_string(),
            count => format!("{count} bugs"),
        };
        if suppressed > 0 {
            bugs += &format!(" ({suppressed} suppressed)");
        }
        let how = match report.stop {
            Stop::Done => "",
            Stop::FirstBug => "; stopped at the first (--keep-going goes on)",
            Stop::Time => "; time is over",
            Stop::Interrupted => "; interrupted",
            Stop::Failed => "; stopped by an error",
        };
        let CampaignReport { model, strategy, seed, executions: count, .. } = report;
        write!(self.out, "{}: {bugs} in {}{how}", Printable(&report.program), executions(*count))?;
        if report.inconclusive.count > 0 {
            write!(self.out, "; {} inconclusive", report.inconclusive.count)?;
        }
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

    /// What the verdict is worth: by which model and why, whether races were looked for, how well orders are known, and
    /// what ran out of the model's sight.
    fn checked(&mut self, report: &CampaignReport) -> fmt::Result {
        if report.ledger.modules.is_empty() {
            return Ok(());
        }
        let races = match (report.model, report.races) {
            (ModelKind::C11, true) => "races were looked for",
            _ if report.because == NO_DEBUG_INFORMATION => {
                "races were not looked for: -g tells the orders of the source"
            }
            _ => "races were not looked for",
        };
        write!(self.out, "  checked: {} ({}); {races}", report.model, report.because)?;
        let (orders, fences) = (report.ledger.tally(false), report.ledger.tally(true));
        let all = orders.known + orders.policy + orders.strengthened;
        let is_c11 = report.model == ModelKind::C11;
        if is_c11 && all > 0 {
            write!(self.out, "; orders known of {} of {all} atomic accesses", orders.known)?;
        }
        if is_c11 && fences.known > 0 {
            write!(self.out, ", {} without an instruction placed", plural(fences.known, "fence"))?;
        }
        if is_c11 && orders.strengthened + fences.strengthened > 0 {
            write!(
                self.out,
                "\n  strengthened: {} and {} of fences (fences may be there that left no trace: behaviour may be missed)",
                plural(orders.strengthened, "order"),
                plural(fences.strengthened, "place"),
            )?;
        }
        self.out.push('\n');
        let modules = || report.ledger.modules.iter();
        let unknown =
            modules().filter(|(path, managed)| is_c11 && **managed && !report.ledger.is_known(path));
        self.files("orders unknown", &unknown.map(|(path, _)| file_name(path)).collect::<Vec<_>>())?;
        let native = modules().filter(|(_, managed)| !**managed);
        self.files("not under the model", &native.map(|(path, _)| file_name(path)).collect::<Vec<_>>())
    }

    /// Files of which something is to be said.
    fn files(&mut self, what: &str, files: &[&str]) -> fmt::Result {
        const SHOWN: usize = 4;
        if files.is_empty() {
            return Ok(());
        }
        let shown = files[..files.len().min(SHOWN)].join(", ");
        write!(self.out, "  {what}: {}", Printable(&shown))?;
        if let more @ 1.. = files.len().saturating_sub(SHOWN) {
            write!(self.out, " and {}", plural(more, "other file"))?;
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
        self.confirmation(bug)?;
        if !bug.places.is_empty() {
            self.places(bug)?;
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
            if let Some(from) = &side.came_from {
                let at = Where(from).to_string();
                writeln!(self.out, "    the last jump before that came from {}", Printable(&at))?;
                self.source(from)?;
            }
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
        self.written(&detail.stdout, &detail.stderr, detail.truncated)?;
        if let Some(path) = &bug.recording {
            let path = shell_word(path.as_os_str());
            writeln!(self.out, "\n  again:   wmtrace replay {path}")?;
            writeln!(self.out, "  explain: wmtrace explain {path}")?;
        }
        match &bug.files {
            Some(path) => writeln!(self.out, "  files:   {} (what it wrote)", shell_word(path.as_os_str())),
            None => Ok(()),
        }
    }

    /// Whether it is real here, and whose it is.
    fn confirmation(&mut self, bug: &Bug) -> fmt::Result {
        let Confirmation { replayed, here, tried } = bug.confirmation;
        let (it, happens) = match bug.key.kind {
            Kind::Race => ("the two accesses meet", "the two accesses did not meet"),
            _ => ("it happens", "it did not happen"),
        };
        match (here, tried) {
            (Here::Possible, 2..) => {
                writeln!(self.out, "  on this processor: {it} (tso, execution {tried})")?;
            }
            (Here::Possible, _) => writeln!(self.out, "  on this processor: {it}")?,
            (Here::NotSeen, _) => {
                writeln!(self.out, "  on this processor: {happens} in {} under tso", executions(tried))?;
            }
            (Here::NotApplicable, _) => {}
        }
        if replayed == Some(false) {
            writeln!(self.out, "  it did not happen again when its recording was replayed")?;
        }
        match bug.detail.owner {
            Owner::Program => Ok(()),
            Owner::Dependency => writeln!(self.out, "  in the code of a library that the program uses"),
            Owner::Runtime => {
                writeln!(self.out, "  in the code of the compiler's or the system's own libraries")
            }
        }
    }

    /// The cause, and where else it shows.
    fn places(&mut self, bug: &Bug) -> fmt::Result {
        let most = if self.verbose { usize::MAX } else { PLACES };
        let (name, kind) = (bug.detail.cause.name.as_str(), bug.key.kind.name());
        let cause = name.strip_prefix(kind).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(name);
        writeln!(self.out, "  cause: {}", Printable(cause))?;
        writeln!(self.out, "  it also shows in {}", plural(bug.places.len(), "other place"))?;
        for place in bug.places.iter().take(most) {
            let at: Vec<String> =
                place.sides.iter().filter_map(|side| side.place().map(|at| Where(at).to_string())).collect();
            let at = Printable(&at.join(" and ")).to_string();
            writeln!(self.out, "    {at}, in {}", executions(place.count))?;
        }
        if bug.places.len() > most {
            writeln!(self.out, "    … {} more (-v)", bug.places.len() - most)?;
        }
        Ok(())
    }

    fn stack(&mut self, stack: &[Location], blamed: usize) -> fmt::Result {
        let shown = if self.verbose { stack.len() } else { FRAMES.max(blamed + 1) };
        for (number, place) in stack.iter().enumerate().take(shown) {
            let function = place.function.as_deref().unwrap_or("?");
            let inlined = if place.inlined { " (inlined)" } else { "" };
            let at = Where(place).to_string();
            writeln!(self.out, "    #{number} {} at {}{inlined}", Printable(function), Printable(&at))?;
            // The text of the place itself; of callers only for those who ask.
            if number == blamed || self.verbose {
                self.source(place)?;
            }
        }
        if stack.len() > shown {
            writeln!(self.out, "    … {} more (-v)", stack.len() - shown)?;
        }
        Ok(())
    }

    /// The text of a line, if it can be read.
    fn source(&mut self, place: &Location) -> fmt::Result {
        match self.sources.line(place) {
            Some(text) => {
                writeln!(self.out, "       {:>5} | {}", place.line, Printable(&text.replace('\t', "    ")))
            }
            None => Ok(()),
        }
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

    /// What the program wrote in one execution.
    fn written(&mut self, stdout: &[u8], stderr: &[u8], truncated: bool) -> fmt::Result {
        self.output("standard output", stdout)?;
        self.output("standard error", stderr)?;
        if truncated {
            writeln!(self.out, "  (the program has written more than wmtrace keeps)")?;
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

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
