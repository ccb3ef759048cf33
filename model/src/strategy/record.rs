//! Records what another strategy chooses, so that it can be [replayed](super::Replay).

use super::{Choice, Pick, ReadChoice, Strategy};
use crate::op::ThreadId;
use crate::recording::{Recording, StepRecord, ValueRecord, fingerprint};

/// Forwards every question to a strategy, and writes down the answers.
#[derive(Clone, Debug)]
pub struct Recorder<S> {
    inner: S,
    recording: Recording,
}

impl<S: Strategy> Recorder<S> {
    /// Appends what `inner` chooses to `recording`, which is new.
    pub const fn new(inner: S, recording: Recording) -> Recorder<S> {
        Recorder { inner, recording }
    }

    /// What has been chosen so far.
    pub const fn recording(&self) -> &Recording {
        &self.recording
    }

    /// The strategy that chooses.
    pub const fn inner(&self) -> &S {
        &self.inner
    }

    /// The strategy and the recording.
    pub fn into_parts(self) -> (S, Recording) {
        (self.inner, self.recording)
    }

    /// Writes down the answer to a question of the current step.
    fn value(&mut self, count: usize, chosen: usize) -> usize {
        let narrow = |n| u32::try_from(n).expect("fewer than 2^32 alternatives");
        let step = self.recording.steps.last_mut().expect("a question belongs to a step that was picked");
        step.values += 1;
        self.recording.values.push(ValueRecord { count: narrow(count), chosen: narrow(chosen) });
        chosen
    }
}

impl<S: Strategy> Strategy for Recorder<S> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn started(&mut self, thread: ThreadId) {
        self.inner.started(thread);
    }

    fn pick(&mut self, enabled: &[Choice]) -> Pick {
        let pick = self.inner.pick(enabled);
        if let Pick::Take(index) = pick {
            let Choice { agent, op, .. } = enabled[index];
            self.recording.steps.push(StepRecord { agent, fingerprint: fingerprint(&op), values: 0 });
        }
        pick
    }

    fn read(&mut self, read: &ReadChoice) -> usize {
        let chosen = self.inner.read(read);
        self.value(read.count, chosen)
    }

    fn place(&mut self, choice: &Choice, count: usize) -> usize {
        let chosen = self.inner.place(choice, count);
        self.value(count, chosen)
    }

    fn wake(&mut self, count: usize) -> usize {
        let chosen = self.inner.wake(count);
        self.value(count, chosen)
    }

    fn spurious(&mut self, choice: &Choice) -> bool {
        let fails = self.inner.spurious(choice);
        self.value(2, usize::from(fails)) == 1
    }

    fn taken(&mut self, choice: &Choice, enabled: &[Choice]) {
        self.inner.taken(choice, enabled);
    }

    fn yields(&mut self, thread: ThreadId) {
        self.inner.yields(thread);
    }

    fn forced(&mut self, choice: &Choice) {
        self.inner.forced(choice);
    }
}
