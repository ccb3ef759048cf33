//! Notes what a replay chooses, so that an explanation can say which reads had a choice.

use wmtrace_model::execution::{EventId, Execution};
use wmtrace_model::op::{Agent, Place, ThreadId};
use wmtrace_model::strategy::{Choice as Step, Divergence, Pick, ReadChoice, Replay, Strategy};

/// A read that could have read other stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Choice {
    pub(crate) event: EventId,
    /// How many stores it could read.
    pub(crate) count: u32,
    /// Which it has read: 0 the oldest, `count - 1` the newest.
    pub(crate) chosen: u32,
}

/// A step that reads memory.
#[derive(Clone, Copy, Debug)]
struct Read {
    thread: ThreadId,
    at: Place,
    choice: Option<(u32, u32)>,
}

/// A replay that takes notes.
pub(crate) struct Noting<'a> {
    replay: Replay<'a>,
    reads: Vec<Read>,
}

impl<'a> Noting<'a> {
    pub(crate) const fn new(replay: Replay<'a>) -> Noting<'a> {
        Noting { replay, reads: Vec::new() }
    }

    /// The first difference from the recording, now that the execution has ended.
    pub(crate) fn divergence(&self) -> Option<Divergence> {
        self.replay.clone().finish()
    }

    /// The reads that had a choice. Steps and events come in the same order, and each step that reads is one event of
    /// its thread that reads there.
    pub(crate) fn choices(&self, execution: &Execution) -> Vec<Choice> {
        let mut reads = self.reads.iter();
        let mut choices = Vec::new();
        for (event, it) in execution.iter() {
            let (Some(_), Some(at)) = (it.label.rf(), it.label.place()) else { continue };
            let Some(read) = reads.find(|read| read.thread == it.thread && read.at == at) else { break };
            if let Some((count, chosen)) = read.choice {
                choices.push(Choice { event, count, chosen });
            }
        }
        choices
    }
}

impl Strategy for Noting<'_> {
    fn name(&self) -> &'static str {
        self.replay.name()
    }

    fn pick(&mut self, enabled: &[Step]) -> Pick {
        let pick = self.replay.pick(enabled);
        if let Pick::Take(index) = pick
            && let Step { agent: Agent::Thread(thread), op, .. } = enabled[index]
            && let (true, Some(at)) = (op.reads(), op.place())
        {
            self.reads.push(Read { thread, at, choice: None });
        }
        pick
    }

    fn read(&mut self, read: &ReadChoice) -> usize {
        let chosen = self.replay.read(read);
        if let Some(last) = self.reads.last_mut() {
            last.choice = Some((read.count as u32, chosen as u32));
        }
        chosen
    }

    fn place(&mut self, choice: &Step, count: usize) -> usize {
        self.replay.place(choice, count)
    }

    fn wake(&mut self, count: usize) -> usize {
        self.replay.wake(count)
    }

    fn spurious(&mut self, choice: &Step) -> bool {
        self.replay.spurious(choice)
    }
}
