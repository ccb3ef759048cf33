//! The explanation as one HTML page that needs nothing else: no network, no script. Whatever comes from the program is text
//! to the browser, never markup.

use super::graph::Graph;
use super::table::{Columns, reads_from};
use super::why::Why;
use super::{Case, headline};
use crate::bug::{Kind, Side, Where};
use crate::engine::Location;
use crate::events::{self, sources};
use crate::report::source::Sources;
use crate::text::{Printable, printable_lines, shell_word};
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use wmtrace_model::execution::{EventId, Source};
use wmtrace_model::op::ThreadId;

/// Threads that still have columns of their own: a browser is wider than a terminal.
const COLUMNS: usize = 8;
/// Lines of source before and after the one that is meant.
const CONTEXT: u32 = 3;
/// Frames of a stack, and bytes of output, that are shown.
const FRAMES: usize = 32;
const OUTPUT: usize = 64 << 10;
/// Reads whose two ends light up: each takes a rule of the style sheet.
const PAIRS: usize = 2000;

const STYLE: &str = include_str!("page.css");

/// The page.
pub(super) fn page(case: &Case<'_>, graph: &Graph<'_>, shown: &BTreeSet<EventId>, why: &Why) -> String {
    let mut page = Page { case, graph, shown, sources: Sources::default(), out: String::new() };
    // Writing to a string cannot fail.
    let _ = page.write(why);
    page.out
}

/// Text of the program's, or of anybody's.
struct Text<'a>(&'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for char in self.0.chars() {
            match char {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                _ => f.write_char(char)?,
            }
        }
        Ok(())
    }
}

/// One line of it, without control characters.
fn line(text: &str) -> String {
    Text(&Printable(text).to_string()).to_string()
}

struct Page<'a> {
    case: &'a Case<'a>,
    graph: &'a Graph<'a>,
    shown: &'a BTreeSet<EventId>,
    sources: Sources,
    out: String,
}

impl Page<'_> {
    fn write(&mut self, why: &Why) -> fmt::Result {
        let detail = &self.case.bug.detail;
        let title = line(&headline(self.case));
        write!(
            self.out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>\n{STYLE}"
        )?;
        self.pairs()?;
        let message = line(&detail.message);
        writeln!(
            self.out,
            "</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n<p class=\"message\">{message}</p>"
        )?;
        self.facts()?;
        writeln!(self.out, "</header>\n<main>")?;
        if !why.paragraphs.is_empty() {
            writeln!(self.out, "<section>\n<h2>Why it can happen</h2>")?;
            for paragraph in &why.paragraphs {
                let text = self.linked(paragraph);
                writeln!(self.out, "<p>{text}</p>")?;
            }
            writeln!(self.out, "</section>")?;
        }
        self.events()?;
        self.places()?;
        self.output("Standard output", &detail.stdout)?;
        self.output("Standard error", &detail.stderr)?;
        writeln!(self.out, "</main>\n</body>\n</html>")
    }

    /// What lights up beside a read, or a mention, that the mouse is over: the store that it reads.
    fn pairs(&mut self) -> fmt::Result {
        let reads = self.shown.iter().flat_map(|read| {
            let from = sources(self.graph.execution, *read).into_iter();
            from.filter_map(move |source| match source {
                Source::Store(store) => Some((*read, store)),
                Source::Init => None,
            })
        });
        let pairs: Vec<_> = reads.filter(|(_, store)| self.shown.contains(store)).take(PAIRS).collect();
        for (read, store) in pairs {
            writeln!(
                self.out,
                "table:has(#{read}:hover) #{store} td, table:has(#{store}:hover) #{read} td {{ background: var(--other) }}"
            )?;
        }
        Ok(())
    }

    /// Which execution it is, and how to see it again.
    fn facts(&mut self) -> fmt::Result {
        let Case { model, strategy, .. } = self.case;
        let certified = match self.case.bug.detail.certified {
            true => "the execution satisfies the axioms of the model",
            false => "no",
        };
        let number = self.case.bug.first_execution;
        writeln!(self.out, "<dl>")?;
        for (name, value) in [
            ("memory model", model.to_string()),
            ("found by", format!("{strategy}, in execution number {number}")),
            ("certified", certified.to_string()),
        ] {
            writeln!(self.out, "<dt>{name}</dt><dd>{}</dd>", line(&value))?;
        }
        if let Some(path) = &self.case.bug.recording {
            let path = line(&shell_word(path.as_os_str()));
            writeln!(self.out, "<dt>again</dt><dd><code>wmtrace replay {path}</code></dd>")?;
        }
        writeln!(self.out, "</dl>")
    }

    /// Text in which events that the page shows are links to them.
    fn linked(&self, text: &str) -> String {
        let word = |word: &str| {
            let bare = word.trim_matches(|char: char| "(),.;:".contains(char));
            let id = bare.strip_prefix('e').and_then(|digits| digits.parse().ok()).map(EventId);
            match id.filter(|id| self.shown.contains(id) && id.to_string() == bare) {
                Some(id) => line(word).replacen(bare, &format!("<a href=\"#{id}\">{id}</a>"), 1),
                None => line(word),
            }
        };
        text.split(' ').map(word).collect::<Vec<_>>().join(" ")
    }

    fn events(&mut self) -> fmt::Result {
        let columns = Columns::of(self.graph, self.shown, COLUMNS);
        writeln!(self.out, "<section>\n<h2>What happened</h2>\n<div class=\"wide\">\n<table>\n<thead><tr>")?;
        for name in columns.heading() {
            write!(self.out, "<th>{}</th>", line(&name))?;
        }
        writeln!(self.out, "</tr></thead>\n<tbody>")?;
        for id in self.shown {
            let event = self.graph.execution.event(*id);
            let stale = if self.graph.missed(*id).is_some() { " class=\"stale\"" } else { "" };
            write!(self.out, "<tr id=\"{id}\"{stale}><td><a href=\"#{id}\">{id}</a></td>")?;
            for cell in columns.cells(self.graph, *id) {
                write!(self.out, "<td>{}</td>", line(&cell))?;
            }
            let from = self.linked(&reads_from(self.case, self.graph, *id));
            let at = line(&events::place(self.case.sites, event.site));
            writeln!(self.out, "<td>{from}</td><td>{at}</td></tr>")?;
        }
        writeln!(self.out, "</tbody>\n</table>\n</div>")?;
        let left_out = self.graph.execution.events.len() - self.shown.len();
        if left_out > 0 {
            writeln!(self.out, "<p class=\"note\">{left_out} other events are not shown (--all).</p>")?;
        }
        writeln!(self.out, "</section>")
    }

    /// The two sides, and what the other threads were doing.
    fn places(&mut self) -> fmt::Result {
        let detail = &self.case.bug.detail;
        let waiting = matches!(self.case.bug.key.kind, Kind::Deadlock | Kind::Livelock);
        let sides: Vec<&Side> = detail.sides.iter().filter(|_| !waiting).collect();
        let shown: Vec<ThreadId> = sides.iter().filter_map(|side| side.thread).collect();
        let others: Vec<_> = detail.threads.iter().filter(|state| !shown.contains(&state.thread)).collect();
        if sides.is_empty() && others.is_empty() {
            return Ok(());
        }
        writeln!(self.out, "<section>\n<h2>Where</h2>\n<div class=\"sides\">")?;
        for side in sides {
            writeln!(self.out, "<article>\n<h3>{}</h3>", line(&side.words()))?;
            if !side.instruction.is_empty() {
                writeln!(self.out, "<p><code>{}</code></p>", line(&side.instruction))?;
            }
            self.stack(&side.stack, side.blamed)?;
            writeln!(self.out, "</article>")?;
        }
        for state in others {
            writeln!(self.out, "<article>\n<h3>{} {}</h3>", state.thread, line(&state.doing))?;
            self.stack(&state.stack, 0)?;
            writeln!(self.out, "</article>")?;
        }
        writeln!(self.out, "</div>\n</section>")
    }

    fn stack(&mut self, stack: &[Location], blamed: usize) -> fmt::Result {
        if stack.is_empty() {
            return Ok(());
        }
        if let Some(place) = stack.get(blamed) {
            self.excerpt(place)?;
        }
        writeln!(self.out, "<ol>")?;
        for place in stack.iter().take(FRAMES) {
            let function = line(place.function.as_deref().unwrap_or("?"));
            let inlined = if place.inlined { " <span class=\"note\">inlined</span>" } else { "" };
            let at = line(&Where(place).to_string());
            writeln!(self.out, "<li><code>{function}</code> <span class=\"at\">{at}</span>{inlined}</li>")?;
        }
        writeln!(self.out, "</ol>")
    }

    /// The source around a place.
    fn excerpt(&mut self, place: &Location) -> fmt::Result {
        let lines = self.sources.around(place, CONTEXT);
        if lines.is_empty() {
            return Ok(());
        }
        write!(self.out, "<pre>")?;
        for (number, text) in lines {
            let text = line(&text.replace('\t', "    "));
            let (open, close) = if number == place.line { ("<mark>", "</mark>") } else { ("", "") };
            writeln!(self.out, "{open}<span class=\"number\">{number:>5}</span> {text}{close}")?;
        }
        writeln!(self.out, "</pre>")
    }

    fn output(&mut self, name: &str, bytes: &[u8]) -> fmt::Result {
        if bytes.is_empty() {
            return Ok(());
        }
        // The end is what was written last before it failed.
        let shown = &bytes[bytes.len().saturating_sub(OUTPUT)..];
        let text = printable_lines(&String::from_utf8_lossy(shown));
        writeln!(self.out, "<section>\n<h2>{name}</h2>\n<pre>{}</pre>", Text(text.trim_end()))?;
        if shown.len() < bytes.len() || self.case.bug.detail.truncated {
            writeln!(self.out, "<p class=\"note\">There was more.</p>")?;
        }
        writeln!(self.out, "</section>")
    }
}
