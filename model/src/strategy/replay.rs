//! Follows a [`Recording`], and says where the execution is not the recorded one.
//!
//! Every step is checked: the recorded agent can act, its operation has the recorded fingerprint, and each of its
//! questions has the recorded number of alternatives. Only [`Strategy::pick`] can answer that something differs,
//! so a difference in between is remembered, the questions until then get the answer 0, and the next pick, or
//! [`Replay::finish`], tells.

use super::{Choice, Difference, Divergence, Pick, ReadChoice, Strategy};
use crate::recording::{Recording, fingerprint};

/// Takes the recorded choices.
#[derive(Clone, Debug)]
pub struct Replay<'a> {
    recording: &'a Recording,
    /// How many steps were picked.
    steps: usize,
    /// How many values were used, and how many the recording has up to the end of the current step.
    values: usize,
    values_due: usize,
    divergence: Option<Divergence>,
}

impl<'a> Replay<'a> {
    /// Replays this recording.
    pub const fn new(recording: &'a Recording) -> Replay<'a> {
        Replay { recording, steps: 0, values: 0, values_due: 0, divergence: None }
    }

    /// The first difference found so far.
    pub const fn divergence(&self) -> Option<Divergence> {
        self.divergence
    }

    /// The execution has ended: the first difference, if it was not the recorded one to its end.
    pub fn finish(mut self) -> Option<Divergence> {
        self.end_step();
        if self.divergence.is_none() && self.steps < self.recording.steps.len() {
            self.diverge(self.steps, Difference::EndsEarly);
        }
        self.divergence
    }

    /// Notes a difference; the first one counts.
    fn diverge(&mut self, step: usize, what: Difference) {
        self.divergence.get_or_insert(Divergence { step: step as u32, what });
    }

    /// Notes that the current step differs from the recorded one in its questions.
    fn other_choices(&mut self) {
        if let Some(step) = self.steps.checked_sub(1) {
            self.diverge(step, Difference::OtherChoices(self.recording.steps[step].agent));
        }
    }

    /// No more questions come from the current step: all that were recorded should have been asked.
    fn end_step(&mut self) {
        if self.values < self.values_due {
            self.other_choices();
        }
    }

    /// The answer to any question but [`Strategy::pick`].
    fn value(&mut self, count: usize) -> usize {
        if self.divergence.is_none() {
            let value = self.recording.values[self.values..self.values_due].first();
            if let Some(value) = value.filter(|value| value.count as usize == count) {
                self.values += 1;
                return value.chosen as usize;
            }
            self.other_choices();
        }
        0
    }

    /// The index of the recorded step in `enabled`.
    fn next(&mut self, enabled: &[Choice]) -> Result<usize, Difference> {
        let recorded = self.recording.steps.get(self.steps).ok_or(Difference::PastTheEnd)?;
        let index = enabled
            .iter()
            .position(|choice| choice.agent == recorded.agent)
            .ok_or(Difference::NotEnabled(recorded.agent))?;
        if fingerprint(&enabled[index].op) != recorded.fingerprint {
            return Err(Difference::OtherOperation(recorded.agent));
        }
        self.steps += 1;
        self.values_due += recorded.values as usize;
        Ok(index)
    }
}

impl Strategy for Replay<'_> {
    fn name(&self) -> &'static str {
        "replay"
    }

    fn pick(&mut self, enabled: &[Choice]) -> Pick {
        self.end_step();
        if self.divergence.is_none() {
            match self.next(enabled) {
                Ok(index) => return Pick::Take(index),
                Err(what) => self.diverge(self.steps, what),
            }
        }
        Pick::Diverged(self.divergence.expect("one was just noted, if there was none"))
    }

    fn read(&mut self, read: &ReadChoice) -> usize {
        self.value(read.count)
    }

    fn place(&mut self, _choice: &Choice, count: usize) -> usize {
        self.value(count)
    }

    fn wake(&mut self, count: usize) -> usize {
        self.value(count)
    }

    fn spurious(&mut self, _choice: &Choice) -> bool {
        self.value(2) == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{Agent, ModelKind, Op, ThreadId};
    use crate::strategy::toy::{End, Ran, Toy, load, store, weak_cas};
    use crate::strategy::{Random, Recorder};

    const T0: Agent = Agent::Thread(ThreadId(0));
    const T1: Agent = Agent::Thread(ThreadId(1));

    fn record(toy: &Toy, model: ModelKind, seed: u64) -> (Ran, Recording) {
        let mut recorder = Recorder::new(Random::new(seed), Recording::new("toy", model, "", seed));
        let ran = toy.run(&mut recorder);
        (ran, recorder.into_parts().1)
    }

    #[test]
    fn a_replay_is_the_recorded_run() {
        let program: &[&[Op]] =
            &[&[store(0), load(1), weak_cas(2), load(0)], &[store(1), load(0), store(0), load(2)]];
        for model in ModelKind::ALL {
            let toy = Toy::new(model, program);
            for seed in 0..50 {
                let (ran, recording) = record(&toy, model, seed);
                assert_eq!(recording.values.len(), ran.values.len());
                let recording = Recording::from_bytes(&recording.to_bytes()).expect("what was just written");
                let mut replay = Replay::new(&recording);
                assert_eq!(toy.run(&mut replay), ran);
                assert_eq!(replay.finish(), None);
            }
        }
    }

    /// What replaying a recording of `recorded` on `other` ends with, and what `finish` says.
    fn diverge(recorded: &[&[Op]], other: &[&[Op]]) -> (End, Option<Divergence>) {
        // In order of threads: the toy's threads, each to its end.
        struct InOrder;
        impl Strategy for InOrder {
            fn name(&self) -> &'static str {
                "in order"
            }
            fn pick(&mut self, _enabled: &[Choice]) -> Pick {
                Pick::Take(0)
            }
            fn read(&mut self, read: &ReadChoice) -> usize {
                read.count - 1
            }
            fn place(&mut self, _choice: &Choice, count: usize) -> usize {
                count - 1
            }
            fn wake(&mut self, _count: usize) -> usize {
                0
            }
        }
        let mut recorder = Recorder::new(InOrder, Recording::new("toy", ModelKind::C11, "", 0));
        Toy::new(ModelKind::C11, recorded).run(&mut recorder);
        let mut replay = Replay::new(recorder.recording());
        let end = Toy::new(ModelKind::C11, other).run(&mut replay).end;
        (end, replay.finish())
    }

    #[test]
    fn the_first_difference_is_named() {
        let recorded: &[&[Op]] = &[&[store(0), store(0)], &[load(0), load(1)]];
        let stops = |other: &[&[Op]], step, what| {
            let divergence = Divergence { step, what };
            assert_eq!(
                diverge(recorded, other),
                (End::Stopped(Pick::Diverged(divergence)), Some(divergence))
            );
        };
        stops(&[&[store(0)], &[load(0), load(1)]], 1, Difference::NotEnabled(T0));
        stops(&[&[store(0), store(1)], &[load(0), load(1)]], 1, Difference::OtherOperation(T0));
        stops(&[&[store(0), store(0)], &[load(0), load(1), load(1)]], 4, Difference::PastTheEnd);
        assert_eq!(diverge(recorded, recorded), (End::Finished, None));
    }

    #[test]
    fn differences_in_choices_are_told_later() {
        let mut recorder = Recorder::new(Random::new(0), Recording::new("toy", ModelKind::C11, "", 0));
        let [a, b] = [(T0, load(0)), (T1, load(1))].map(|(agent, op)| Choice { agent, op, serial: 0 });
        recorder.pick(&[a]);
        recorder.read(&ReadChoice { choice: a, count: 3 });
        recorder.pick(&[b]);
        let recording = recorder.recording();
        let expected = Some(Divergence { step: 0, what: Difference::OtherChoices(T0) });

        // Another number of alternatives: a harmless answer, then the truth.
        let mut replay = Replay::new(recording);
        assert_eq!(replay.pick(&[a]), Pick::Take(0));
        assert_eq!(replay.read(&ReadChoice { choice: a, count: 2 }), 0);
        assert_eq!(replay.divergence(), expected);
        assert!(matches!(replay.pick(&[b]), Pick::Diverged(d) if Some(d) == expected));
        assert_eq!(replay.finish(), expected);

        // A question that is not asked: at the next pick, or at the end.
        let mut replay = Replay::new(recording);
        replay.pick(&[a]);
        assert_eq!(replay.clone().finish(), expected);
        assert!(matches!(replay.pick(&[b]), Pick::Diverged(d) if Some(d) == expected));

        // A question that was not recorded.
        let mut replay = Replay::new(recording);
        replay.pick(&[a]);
        replay.read(&ReadChoice { choice: a, count: 3 });
        replay.pick(&[b]);
        assert_eq!(replay.wake(2), 0);
        assert_eq!(replay.finish().map(|d| d.what), Some(Difference::OtherChoices(T1)));

        // The execution ends before the recording.
        let mut replay = Replay::new(recording);
        replay.pick(&[a]);
        replay.read(&ReadChoice { choice: a, count: 3 });
        assert_eq!(replay.finish(), Some(Divergence { step: 1, what: Difference::EndsEarly }));
    }
}
