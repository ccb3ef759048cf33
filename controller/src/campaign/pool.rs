//! Executions in parallel, with results that do not depend on how many there are at a time.
//!
//! Executions are planned in rounds of fixed sizes: the parameters of one depend only on what was observed in earlier
//! rounds. Within a round, workers take executions in order of their numbers, and results are merged in that order; the
//! one that stops a campaign is the one with the lowest number, and those after it count for nothing, whoever ran them.

use super::judge::Defect;
use super::run::{Failure, Ran, Runner};
use super::setup::Setup;
use crate::engine::{Engine, EngineError};
use crate::launch::Launch;
use crate::os::interrupt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Instant;
use wmtrace_model::plan::Planned;

/// How many executions a round has: few at first, so that estimates are soon there.
pub(super) const fn round_size(round: u32) -> u64 {
    match round {
        0 | 1 => 1,
        2 => 2,
        3 => 4,
        4 => 8,
        _ => 16,
    }
}

/// What became of a planned execution; `None`: it was not run, because a campaign that stops does not need it.
pub(super) type Done = (u64, Option<Result<Ran, Failure>>);

/// What workers look at before they begin an execution.
pub(super) struct Control {
    /// Executions after this one are not needed.
    pub(super) cutoff: AtomicU64,
    pub(super) deadline: Option<Instant>,
    crew: Mutex<Crew>,
    /// Somebody has left.
    left: Condvar,
}

/// The workers.
#[derive(Default)]
struct Crew {
    /// Those that will do more work.
    staying: usize,
    /// Those, and those whose processes are not gone yet.
    present: usize,
}

impl Control {
    pub(super) fn new(deadline: Option<Instant>) -> Control {
        Control { cutoff: AtomicU64::new(u64::MAX), deadline, crew: Mutex::default(), left: Condvar::new() }
    }

    /// Whether no more executions are to be begun, whatever was found.
    pub(super) fn is_over(&self) -> bool {
        interrupt::requested() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn crew(&self) -> MutexGuard<'_, Crew> {
        self.crew.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker is ready to work.
    fn joins(&self) {
        let mut crew = self.crew();
        crew.staying += 1;
        crew.present += 1;
    }

    /// A worker lacks something that the others use: whether it may leave. The last one stays.
    fn lets_leave(&self) -> bool {
        let mut crew = self.crew();
        let may = crew.staying > 1;
        crew.staying -= usize::from(may);
        may
    }

    /// Its processes are gone.
    fn has_left(&self) {
        self.crew().present -= 1;
        self.left.notify_all();
    }

    /// Whether nobody else is there.
    fn is_alone(&self) -> bool {
        self.crew().present == 1
    }

    /// The last worker waits until the others are gone.
    fn becomes_alone(&self) {
        let others = |crew: &mut Crew| crew.present > 1;
        drop(self.left.wait_while(self.crew(), others));
    }

    fn wants(&self, index: u64) -> bool {
        // The first one takes the time that it needs: "no bug" after no execution would be said too easily.
        let begins = if index == 0 { !interrupt::requested() } else { !self.is_over() };
        begins && index <= self.cutoff.load(Ordering::Relaxed)
    }
}

/// A worker's thread.
pub(super) type Worker<'scope> = ScopedJoinHandle<'scope, ()>;

/// A worker. It tells whether its engine could be started. If not, the others do its share; if the first one's could not,
/// nothing is run at all.
///
/// # Errors
/// When there can be no more threads.
pub(super) fn worker<'scope, L: Launch>(
    scope: &'scope Scope<'scope, '_>,
    launch: &'scope L,
    setup: &'scope Setup,
    work: Work<'scope>,
    tell: Sender<Result<(), EngineError>>,
) -> Result<Worker<'scope>, EngineError> {
    let work = move || match launch.launch(&setup.program, &setup.engine) {
        Ok(engine) => {
            work.control.joins();
            // Nobody listens only if the campaign is over.
            let _ = tell.send(Ok(()));
            drop(tell);
            work.serve(engine, setup);
        }
        Err(error) => {
            let _ = tell.send(Err(error));
        }
    };
    let thread = std::thread::Builder::new().spawn_scoped(scope, work);
    thread.map_err(|error| EngineError::io("cannot make a thread", &error))
}

/// What a worker needs.
#[derive(Clone)]
pub(super) struct Work<'a> {
    pub(super) jobs: &'a Mutex<Receiver<Planned>>,
    pub(super) results: Sender<Done>,
    pub(super) control: &'a Control,
    pub(super) verify: bool,
}

impl Work<'_> {
    /// Runs executions until there are no more.
    fn serve<E: Engine>(self, engine: E, setup: &Setup) {
        let mut runner = Runner::new(engine, setup, self.verify);
        loop {
            let job = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(planned) = job else { return };
            let promise = Promise { index: planned.index, results: &self.results, kept: false };
            let mut is_alone = self.control.is_alone();
            let mut result = self.control.wants(planned.index).then(|| runner.run(planned));
            while let Some(why) = result.as_ref().and_then(lacks) {
                if self.control.lets_leave() {
                    // Its processes are gone before another worker tries.
                    drop(runner);
                    self.control.has_left();
                    return promise.keep(Some(Err(Failure::Crowded { planned, why })));
                }
                if is_alone {
                    result = result.map(|result| alone(result, why));
                    break;
                }
                self.control.becomes_alone();
                is_alone = true;
                result = Some(runner.run(planned));
            }
            promise.keep(result);
        }
    }
}

/// What an execution lacked that other executions use, too.
fn lacks(result: &Result<Ran, Failure>) -> Option<String> {
    match result {
        Ok(ran) => ran.lacks.clone(),
        Err(Failure::Engine(EngineError::Exhausted(why))) => Some(why.clone()),
        Err(_) => None,
    }
}

/// The same although nothing else runs: a program that copes with it is judged, and is told of. A bug may come from it.
fn alone(result: Result<Ran, Failure>, why: String) -> Result<Ran, Failure> {
    let mut ran = result?;
    if !ran.occurrences.is_empty() {
        return Err(EngineError::Exhausted(why).into());
    }
    ran.warnings.push(why);
    Ok(ran)
}

/// A result that will come, also if the worker panics: nobody waits for ever.
struct Promise<'a> {
    index: u64,
    results: &'a Sender<Done>,
    kept: bool,
}

impl Promise<'_> {
    fn keep(mut self, result: Option<Result<Ran, Failure>>) {
        self.kept = true;
        // Nobody listens only if the campaign is over.
        let _ = self.results.send((self.index, result));
    }
}

impl Drop for Promise<'_> {
    fn drop(&mut self) {
        if !self.kept {
            let defect = Defect::Other(format!("execution {} has failed inside wmtrace", self.index));
            let _ = self.results.send((self.index, Some(Err(defect.into()))));
        }
    }
}
