//! What a difference between two runs may come from, in words: memory that others write, what the kernel and native code
//! gave, and what went on by itself.

use super::verify::{Seen, first_difference};
use crate::engine::Sites;
use crate::engine::journal::{Begun, Observation, Observed, Process, Source};
use crate::engine::syscall_name as name;
use crate::events;
use crate::os::proc::Mapping;
use wmtrace_model::execution::Label;
use wmtrace_model::op::{Site, ThreadId};

/// More timers and processes than this are only counted.
const SHOWN: usize = 4;

/// The causes of a difference before (or at) this event; `None`: at the end.
pub(super) fn of(first: &Seen, second: &Seen, event: Option<u32>, sites: &dyn Sites) -> Vec<String> {
    let until = event.unwrap_or(u32::MAX);
    let mut causes = Vec::new();
    causes.extend(sign(first, second, until, sites));
    let begun = |seen: &Seen| {
        let sources = seen.journal.sources.iter().filter(|it| it.events <= until);
        sources.cloned().collect::<Vec<_>>()
    };
    // What a process does to itself shows in one of the runs, perhaps, and not in the other.
    let (one, other) = (begun(first), begun(second));
    let sources = if other.len() > one.len() { &other } else { &one };
    let memory_of_event = event.and_then(|event| shared(first, second, event as usize));
    // If the event is at other memory, a plain load may have read what is shared.
    let mapping = first.journal.shared.first().filter(|_| memory_of_event.is_none());
    causes.extend(memory_of_event);
    for (at, source) in sources.iter().enumerate().take(SHOWN) {
        let mut text = begins(source, [one.get(at), other.get(at)], sites);
        if let (Begun::Process(_), Some(mapping)) = (&source.what, mapping) {
            text += &format!(", shares memory with the program ({})", memory(mapping));
        }
        causes.push(text);
    }
    for file in first.journal.files.iter().take(SHOWN) {
        causes.push(format!("executions share {}, which the program writes", file.display()));
    }
    if sources.len() > SHOWN {
        causes.push(format!("{} more timers and processes", sources.len() - SHOWN));
    }
    causes
}

/// The first thing that differs of what need not matter: if something else differs, this is probably why.
fn sign(first: &Seen, second: &Seen, until: u32, sites: &dyn Sites) -> Option<String> {
    let (a, b) = (&first.journal.observations, &second.journal.observations);
    let at = first_difference(a, b)?;
    let (a, b) = (a.get(at)?, b.get(at)?);
    let alike = (a.events, a.thread, a.site) == (b.events, b.thread, b.site) && a.events <= until;
    match (a.what, b.what) {
        (Observed::Bytes { number, .. }, Observed::Bytes { .. }) if alike => Some(format!(
            "what the system call {} wrote to memory for {} was not the same",
            name(number),
            place(a.thread, a.site, sites)
        )),
        (Observed::Native(_), Observed::Native(_)) if alike => Some(format!(
            "what native code returned to {} was not the same: it has met something that differs (an instruction like RDRAND, or memory that others write)",
            place(a.thread, a.site, sites)
        )),
        _ => None,
    }
}

/// The memory of the event that differs, if other processes may have written it.
fn shared(first: &Seen, second: &Seen, event: usize) -> Option<String> {
    let [a, b] = [first, second].map(|seen| seen.execution.events.get(event));
    if a == b {
        return None;
    }
    [(first, a), (second, b)].into_iter().find_map(|(seen, event)| {
        let at = match event?.label {
            Label::Foreign { at, .. } => at,
            label => label.place()?.addr,
        };
        let mapping = seen.journal.shared.iter().find(|mapping| mapping.contains(at.0))?;
        Some(format!("other processes may write the memory at {at}, which is shared ({})", memory(mapping)))
    })
}

fn memory(mapping: &Mapping) -> String {
    let name = if mapping.name.is_empty() { "no file" } else { &mapping.name };
    format!("{:#x}-{:#x}, {name}", mapping.start, mapping.end)
}

/// A timer or a process.
fn begins(source: &Source, runs: [Option<&Source>; 2], sites: &dyn Sites) -> String {
    let by = match source.site {
        Some(_) => place(source.thread, source.site, sites),
        None => source.thread.to_string(),
    };
    let call = source.call.map(name).unwrap_or_default();
    match &source.what {
        Begun::Timer if source.call.is_none() => {
            format!("a timer rang while native code called by {by} ran for long, at some moment")
        }
        Begun::Timer => format!("a timer in real time, set by {by} (system call {call})"),
        Begun::Interrupted => format!(
            "native code called by {by} ran for long without a system call, and was interrupted at some moment"
        ),
        Begun::Process(_) => {
            let mut did = Process::default();
            for run in runs.into_iter().flatten() {
                if let Begun::Process(process) = &run.what {
                    did.sleeps = did.sleeps.or(process.sleeps);
                    did.makes_threads |= process.makes_threads;
                    did.makes_processes |= process.makes_processes;
                    did.runs_for_long |= process.runs_for_long;
                }
            }
            let mut text = format!("a process made by {by} (system call {call}) runs by itself");
            if let Some(number) = did.sleeps {
                text += &format!(", sleeps in real time (system call {})", name(number));
            }
            if did.makes_threads {
                text += ", has threads of its own";
            }
            if did.makes_processes {
                text += ", makes processes";
            }
            if did.runs_for_long {
                text += ", goes on for longer than wmtrace waits for it";
            }
            text
        }
    }
}

/// The first observation that is not the same: what it is in one run, and in the other.
pub(super) fn observed(pair: [Option<&Observation>; 2], sites: &dyn Sites) -> String {
    if let [Some(a), Some(b)] = pair
        && let (Observed::Call { number, result: x }, Observed::Call { number: same, result: y }) =
            (a.what, b.what)
        && (a.events, a.thread, a.site, number) == (b.events, b.thread, b.site, same)
    {
        let by = place(a.thread, a.site, sites);
        return format!("the system call {} of {by} returns {}, then {}", name(number), result(x), result(y));
    }
    let side = |it: Option<&Observation>| match it {
        None => "nothing more".to_string(),
        Some(it) => {
            let by = place(it.thread, it.site, sites);
            let what = match it.what {
                Observed::Call { number, result: shown } => {
                    format!("the system call {} of {by} returns {}", name(number), result(shown))
                }
                Observed::Signal(signal) => {
                    let name = nix::sys::signal::Signal::try_from(signal)
                        .map_or_else(|_| format!("signal {signal}"), |signal| signal.to_string());
                    format!("{name} comes to {by}")
                }
                Observed::Bytes { .. } | Observed::Native(_) => unreachable!("these do not count"),
            };
            format!("{what} before event e{}", it.events)
        }
    };
    format!("what happens next is `{}`, then `{}`", side(pair[0]), side(pair[1]))
}

/// A result, or an error.
fn result(value: u64) -> String {
    let value = value as i64;
    match i32::try_from(-value) {
        Ok(errno @ 1..=4095) => format!("{:?}", nix::errno::Errno::from_raw(errno)),
        _ => value.to_string(),
    }
}

/// Who, and where.
fn place(thread: ThreadId, site: Option<Site>, sites: &dyn Sites) -> String {
    match site.map(|site| events::place(sites, site)) {
        Some(place) if !place.is_empty() => format!("{thread} at {place}"),
        _ => thread.to_string(),
    }
}
