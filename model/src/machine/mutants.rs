//! The mutation test: every rule of the models, weakened one at a time, is caught by the certificate.
//!
//! Each mutant has a small program that needs the rule. Explored exhaustively, the right machine produces only
//! executions that satisfy the axioms; the mutant produces at least one that does not.

use super::{Config, Machine, Memory};
use crate::axioms::{Violation, certify};
use crate::litmus::parse::parse;
use crate::litmus::sim::{self, End};
use crate::models::mutant::Mutant;
use crate::op::{Addr, ModelKind, Op, Place, Site, Step, ThreadId, Value};
use crate::order::Order;

use crate::strategy::{Choice, Exhaustive, Pick, ReadChoice, Strategy};
use ModelKind::{C11, Pslo, Pso, Tso};
use alloc::format;
use alloc::string::String;

/// Litmus code in short: `x=1.rel`, `r=x.acq`, `f.sc`, `r+x.rlx` (fetch_add 1), statements apart by `;`,
/// threads by `|`.
fn program(code: &str) -> crate::litmus::program::Program {
    let mut text = String::from("C mutant\n{}\n");
    for (index, thread) in code.split('|').enumerate() {
        text += &format!("P{index} (atomic_int* x, atomic_int* y, atomic_int* z) {{\n");
        for (register, statement) in thread.split(';').map(str::trim).enumerate() {
            let (what, order) = statement.split_once('.').expect("an order");
            let order = match order {
                "rlx" => "memory_order_relaxed",
                "acq" => "memory_order_acquire",
                "rel" => "memory_order_release",
                "ar" => "memory_order_acq_rel",
                "sc" => "memory_order_seq_cst",
                other => panic!("{other}"),
            };
            text += &match what.split_once(['=', '+']) {
                None => format!("atomic_thread_fence({order});\n"),
                Some(("r", at)) if what.contains('=') => {
                    format!("int r{register} = atomic_load_explicit({at}, {order});\n")
                }
                Some(("r", at)) => {
                    format!("int r{register} = atomic_fetch_add_explicit({at}, 1, {order});\n")
                }
                Some((at, value)) => format!("atomic_store_explicit({at}, {value}, {order});\n"),
            };
        }
        text += "}\n";
    }
    parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The first violation that some execution of the program shows.
fn explore(code: &str, model: ModelKind, insertion: bool, mutant: Option<Mutant>) -> Result<u32, Violation> {
    let program = program(code);
    let mut config = Config::new(model);
    (config.insertion, config.spin, config.mutant) = (insertion, false, mutant);
    // A mutant can do what the reduction takes to be impossible: look at every execution.
    let mut machine = Machine::new(config, Exhaustive::without_reduction());
    let mut executions = 0;
    loop {
        let outcome = sim::run(&program, &mut machine, None);
        assert_eq!(outcome.end, End::Finished);
        certify(machine.execution())?;
        executions += 1;
        if !machine.strategy_mut().advance() {
            return Ok(executions);
        }
        machine.reset();
    }
}

#[test]
fn every_weakened_rule_is_caught() {
    let sb = "x=1.rlx; f.sc; r=y.rlx | y=1.rlx; f.sc; r=x.rlx";
    let sb_sc = "x=1.sc; r=y.sc | y=1.sc; r=x.sc";
    let mp = "x=1.rlx; y=1.rel | r=y.acq; r=x.rlx";
    let mp_fences = "x=1.rlx; f.rel; y=1.rlx | r=y.rlx; f.acq; r=x.rlx";
    let co_rr = "x=1.rlx | r=x.rlx; r=x.rlx";
    let co_wr = "x=1.rlx; r=x.rlx | y=1.rlx";
    let co_ww = "x=1.rlx; x=2.rlx | r=x.rlx";
    let rmws = "r+x.rlx | r+x.rlx";
    let own_rmw = "x=1.rlx; r+x.rlx | r=x.rlx";
    let table = [
        (Mutant::AcquireJoinsNothing, C11, false, mp),
        (Mutant::RelaxedLoadKeepsNothing, C11, false, mp_fences),
        (Mutant::AcquireFenceJoinsNothing, C11, false, mp_fences),
        (Mutant::ReleaseFencePublishesNothing, C11, false, mp_fences),
        (Mutant::ReleaseStorePublishesNothing, C11, false, mp),
        (Mutant::RmwEndsReleaseSequence, C11, false, "x=1.rlx; y=1.rel | r+y.rlx | r=y.acq; r=x.rlx"),
        (Mutant::LoadIgnoresView, C11, false, co_rr),
        (Mutant::LoadLeavesNoTrace, C11, false, co_rr),
        (Mutant::StoreLeavesNoTrace, C11, false, co_wr),
        (Mutant::ScLoadIgnoresSc, C11, false, sb_sc),
        (Mutant::ScAccessLeavesNoTrace, C11, false, sb_sc),
        (Mutant::ScFenceJoinsNothing, C11, false, sb),
        (Mutant::ScFenceLeavesNoTrace, C11, false, sb),
        (Mutant::InsertBeforeSeen, C11, true, co_ww),
        (Mutant::InsertIntoRmw, C11, true, "r+x.rlx | x=5.rlx"),
        (Mutant::RmwReadsOld, C11, false, rmws),
        (Mutant::RmwReadsOld, Tso, false, rmws),
        (Mutant::RmwReadsOld, Pslo, false, rmws),
        (Mutant::TsoFenceDoesNothing, Tso, false, sb),
        (Mutant::TsoLoadStaysBehind, Tso, false, "x=1.rlx; y=1.rlx | r=y.rlx; r=x.rlx"),
        (Mutant::TsoIgnoresOwnStore, Tso, false, co_wr),
        (Mutant::TsoRmwStaysBehind, Tso, false, "x=1.rlx; r+z.rlx; r=y.rlx | y=1.rlx; f.sc; r=x.rlx"),
        (Mutant::ReleaseCommitsNothing, Pso, false, mp),
        (Mutant::ReleaseCommitsNothing, Pslo, false, mp),
        (Mutant::BarrierCommitsNothing, Pso, false, sb),
        (Mutant::BarrierCommitsNothing, Pslo, false, sb_sc),
        (Mutant::NoForwarding, Pso, false, co_wr),
        (Mutant::CommitsNewestFirst, Pso, false, co_ww),
        (Mutant::RmwOvertakesOwnStore, Pso, false, own_rmw),
        (Mutant::AcquireOrdersNothing, Pslo, false, mp),
        (Mutant::PsloForgetsItsReads, Pslo, false, co_rr),
    ];
    for (mutant, model, insertion, code) in table {
        if let Err(violation) = explore(code, model, insertion, None) {
            panic!("the right machine is refused: {model}, {code}: {violation}");
        }
        let caught = explore(code, model, insertion, Some(mutant));
        assert!(caught.is_err(), "{mutant:?} under {model} is not caught by {code}");
    }
}

/// Always the first choice; reads the oldest store.
struct Oldest;

impl Strategy for Oldest {
    fn name(&self) -> &'static str {
        "oldest"
    }
    fn pick(&mut self, _: &[Choice]) -> Pick {
        Pick::Take(0)
    }
    fn read(&mut self, _: &ReadChoice) -> usize {
        0
    }
    fn place(&mut self, _: &Choice, count: usize) -> usize {
        count - 1
    }
    fn wake(&mut self, _: usize) -> usize {
        0
    }
}

struct Word(Value);

impl Memory for Word {
    fn read(&mut self, _: Place) -> Value {
        self.0
    }
}

/// A parent stores, its child loads and stores, the parent joins it and loads: all in the only order there is.
fn parent_and_child(mutant: Option<Mutant>) -> Result<(), Violation> {
    let at = Place::new(Addr(0), 4);
    let (parent, child) = (ThreadId(0), ThreadId(1));
    let mut config = Config::new(C11);
    config.mutant = mutant;
    let mut machine = Machine::new(config, Oldest);
    let mut word = Word(0);
    let mut act = |machine: &mut Machine<Oldest>, thread, op: Op, value| {
        machine.pending(thread, op, Site(0), 0);
        let Step::Run { how, .. } = machine.next(&mut word) else { panic!("the only thread that can run") };
        let read = if op.reads() { how.read.unwrap_or(word.0) } else { 0 };
        if op.writes() {
            word.0 = value;
        }
        machine.retired(thread, read, value).expect("agreed");
    };
    let (load, store) = (Op::Load { at, order: Order::Relaxed }, Op::Store { at, order: Order::Relaxed });
    machine.spawn(None, Site(0)).expect("room");
    act(&mut machine, parent, store, 1);
    machine.spawn(Some(parent), Site(0)).expect("room");
    machine.away(parent);
    act(&mut machine, child, load, 0);
    act(&mut machine, child, store, 2);
    machine.exit(child, Site(0));
    machine.back(parent);
    act(&mut machine, parent, Op::Join { child }, 0);
    act(&mut machine, parent, load, 0);
    certify(machine.execution())
}

#[test]
fn weakened_creation_and_join_are_caught() {
    parent_and_child(None).expect("the right machine");
    for mutant in [Mutant::ChildKnowsNothing, Mutant::JoinLearnsNothing] {
        assert!(parent_and_child(Some(mutant)).is_err(), "{mutant:?}");
    }
}

/// A thread stores; somebody else writes the same bytes, the same value even; the thread reads them.
fn foreign_write(model: ModelKind, mutant: Option<Mutant>) -> Result<(), Violation> {
    let (at, thread) = (Place::new(Addr(0), 4), ThreadId(0));
    let mut config = Config::new(model);
    config.mutant = mutant;
    let mut machine = Machine::new(config, Oldest);
    assert_eq!(machine.spawn(None, Site(0)), Ok(thread));
    machine.pending(thread, Op::Store { at, order: Order::SeqCst }, Site(0), 0);
    assert!(matches!(machine.next(&mut Word(0)), Step::Run { .. }));
    machine.retired(thread, 0, 1).expect("a store reads nothing");
    machine.foreign(thread, Site(0), at.addr, 4);
    machine.pending(thread, Op::Load { at, order: Order::Relaxed }, Site(0), 0);
    assert!(matches!(machine.next(&mut Word(1)), Step::Run { .. }));
    machine.retired(thread, 1, 0).expect("agreed");
    certify(machine.execution())
}

#[test]
fn histories_that_outlive_a_foreign_write_are_caught() {
    for model in ModelKind::ALL {
        assert_eq!(foreign_write(model, None), Ok(()));
        assert!(foreign_write(model, Some(Mutant::ForeignForgetsNothing)).is_err(), "{model}");
    }
}
