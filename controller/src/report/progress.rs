//! A bar on stderr with rate, bugs and time left: only on a terminal (indicatif sees to that), never with `-q`.

use crate::campaign::Observer;
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::time::Duration;

/// Shows how far a campaign is.
pub(crate) struct Progress {
    bar: ProgressBar,
    buggy: u64,
    given_up: u64,
}

impl Progress {
    /// A bar of `runs` executions, or a counter if only time is limited.
    pub(crate) fn new(shown: bool, runs: u64, time: Option<Duration>) -> Progress {
        let bounded = runs < u64::MAX;
        let bar = match (shown, bounded) {
            (false, _) => ProgressBar::hidden(),
            (true, true) => ProgressBar::new(runs),
            (true, false) => ProgressBar::new_spinner(),
        };
        let template = if bounded {
            "{bar:30} {human_pos}/{human_len} executions, {rate}, {msg}, {left} left"
        } else {
            "{spinner} {human_pos} executions, {rate}, {msg}, {left} left"
        };
        // Writing to the bar's own text cannot fail.
        let rate = |state: &ProgressState, out: &mut dyn Write| {
            let _ = write!(out, "{:.1}/s", state.per_sec());
        };
        let left = move |state: &ProgressState, out: &mut dyn Write| {
            let executions = bounded.then(|| state.eta());
            let time = time.map(|time| time.saturating_sub(state.elapsed()));
            let left = executions.into_iter().chain(time).min().unwrap_or_default();
            let _ = write!(out, "{:#}", HumanDuration(left));
        };
        let style = ProgressStyle::with_template(template).expect("the template is a constant");
        bar.set_style(style.with_key("rate", rate).with_key("left", left));
        bar.set_message("no bug");
        if !bar.is_hidden() {
            // One execution can take seconds: the clock goes on meanwhile.
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Progress { bar, buggy: 0, given_up: 0 }
    }
}

impl Observer for Progress {
    fn executed(&mut self, buggy: bool, given_up: bool) {
        self.bar.inc(1);
        self.buggy += u64::from(buggy);
        self.given_up += u64::from(given_up && !buggy);
        if buggy || given_up {
            let bugs =
                if self.buggy == 0 { "no bug".to_owned() } else { format!("{} with bugs", self.buggy) };
            let given_up =
                if self.given_up == 0 { String::new() } else { format!(", {} given up", self.given_up) };
            self.bar.set_message(bugs + &given_up);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
