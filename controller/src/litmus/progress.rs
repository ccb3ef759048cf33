//! A bar on stderr for explorations that take a while: only on a terminal (indicatif sees to that), never with `-q`.

use indicatif::{ProgressBar, ProgressStyle};

/// Executions between two looks at the bar. One execution takes microseconds, a look at the clock should not count.
const STRIDE: u64 = 256;

/// Shows how many executions have been run.
pub(crate) struct Progress {
    bar: ProgressBar,
    done: u64,
}

impl Progress {
    /// A bar of `total` executions, or a counter if nobody knows how many there will be.
    pub(crate) fn new(shown: bool, total: Option<u64>) -> Progress {
        let bar = match total {
            _ if !shown => ProgressBar::hidden(),
            Some(total) => ProgressBar::new(total),
            None => ProgressBar::new_spinner(),
        };
        let template = match total {
            Some(_) => "{bar:40} {human_pos}/{human_len} executions, {per_sec}, {eta} left",
            None => "{spinner} {human_pos} executions, {per_sec}",
        };
        bar.set_style(ProgressStyle::with_template(template).expect("the template is a constant"));
        Progress { bar, done: 0 }
    }

    /// One more execution has ended.
    pub(crate) fn tick(&mut self) {
        self.done += 1;
        if self.done.is_multiple_of(STRIDE) {
            self.bar.set_position(self.done);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
