//! A bar on stderr for explorations that take a while: only on a terminal (indicatif sees to that), never with `-q`.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::{Duration, Instant};

/// What ends sooner needs no bar: of many small tests, none should flicker.
const PATIENCE: Duration = Duration::from_millis(300);

/// Shows how many executions have been run.
pub(crate) struct Progress {
    bar: ProgressBar,
    began: Instant,
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
        Progress { bar, began: Instant::now(), done: 0 }
    }

    /// One more execution has ended.
    pub(crate) fn tick(&mut self) {
        self.done += 1;
        // By time, not by number: an execution takes microseconds, or a second. indicatif draws at its own rate.
        if !self.bar.is_hidden() && self.began.elapsed() >= PATIENCE {
            self.bar.set_position(self.done);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
