//! Size and hostility: executions with very many events, and with nothing but nonsense.

use super::*;
use crate::execution::{Access, Race};
use crate::rng::Rng;

/// 200,000 events of 8 threads on 50 cells, valid in every model since all read what was written last.
#[test]
fn a_long_execution_is_certified() {
    for model in ModelKind::ALL {
        let mut rng = Rng::new(11);
        let mut run = Run::new(model);
        let mut newest = [Init; 50];
        while run.execution.events.len() < 200_000 {
            let (thread, cell) = (rng.below(8) as u32, rng.below(newest.len()));
            let at = Place::new(Addr(0x1000 + 8 * cell as u64), 8);
            let order = Order::ALL[rng.below(6)];
            match rng.below(10) {
                0..4 => _ = run.r(thread, at, order, newest[cell]),
                4..7 => newest[cell] = Store(run.w(thread, at, order, rng.bits().into())),
                7 => newest[cell] = Store(run.rmw(thread, at, order, newest[cell])),
                8 => _ = run.fence(thread, order),
                _ => _ = run.push(thread, Label::Acquire { object: cell as u64 }),
            }
        }
        run.allowed();
    }
}

/// Fields out of a small range, so that some references hit, and extremes. 20,000 executions of up to 12
/// events: nothing is asserted but that both certificates return.
#[test]
fn garbage_is_judged_without_panic() {
    let mut rng = Rng::new(5);
    let mut judged = 0;
    for round in 0..20_000 {
        let mut execution = Execution::new(ModelKind::ALL[round % 5]);
        for _ in 0..rng.below(3) {
            execution.bytes.push(core::array::from_fn(|_| source(&mut rng)));
        }
        for _ in 0..rng.below(13) {
            let (thread, epoch) = (thread(&mut rng), rng.below(3) as u32);
            execution.events.push(Event { thread, site: Site(0), epoch, label: label(&mut rng) });
        }
        let events = rng.below(13) as u32;
        let race = Race { first: access(&mut rng), second: access(&mut rng), events };
        let verdicts = [certify(&execution), certify_race(&execution, &race)];
        judged += verdicts.iter().flatten().count();
        for violation in verdicts.into_iter().filter_map(Result::err) {
            assert!(!alloc::format!("{violation}").is_empty());
        }
    }
    // Enough executions get past the first defect for the test to mean something.
    assert!(judged > 1000, "{judged}");
}

fn source(rng: &mut Rng) -> Source {
    match rng.below(8) {
        0..4 => Init,
        7 => Store(EventId(rng.bits() as u32)),
        _ => Store(EventId(rng.below(8) as u32)),
    }
}

fn thread(rng: &mut Rng) -> ThreadId {
    if rng.below(16) == 0 { ThreadId(u32::MAX) } else { ThreadId(rng.below(4) as u32) }
}

fn address(rng: &mut Rng) -> Addr {
    match rng.below(32) {
        0 => Addr(u64::MAX - rng.below(4) as u64),
        _ => Addr(rng.below(4) as u64),
    }
}

fn place(rng: &mut Rng) -> Place {
    let width = if rng.below(32) == 0 { rng.bits() as u8 } else { 1 + rng.below(3) as u8 };
    Place { addr: address(rng), width }
}

fn label(rng: &mut Rng) -> Label {
    let (at, order) = (place(rng), Order::ALL[rng.below(6)]);
    let rf = if rng.below(8) == 0 { Rf::Bytes(rng.below(3) as u32) } else { Rf::One(source(rng)) };
    let mo = match rng.below(8) {
        0..4 => Mo::Last,
        4 => Mo::Held,
        _ => Mo::After(source(rng)),
    };
    let value = Value::from(rng.below(16) == 0);
    let store = EventId(rng.below(8) as u32);
    let (child, object) = (thread(rng), rng.below(2) as u64);
    let len = if rng.below(8) == 0 { rng.bits() } else { rng.below(5) as u64 };
    match rng.below(25) {
        0..6 => Label::Load { at, order, value, rf, locked: rng.below(4) == 0 },
        6..12 => Label::Store { at, order, value, mo },
        12..15 => Label::Rmw { at, order, read: value, rf, written: 0, mo },
        15 => Label::Fence { order },
        16 => Label::Commit { store },
        17 => Label::Create { child },
        18 => Label::Exit,
        19 => Label::Join { child },
        20 => Label::Release { object },
        21 => Label::Acquire { object },
        22 => Label::Alloc { at: at.addr, len },
        23 => Label::Foreign { at: at.addr, len },
        _ => Label::Free { at: at.addr, len },
    }
}

fn access(rng: &mut Rng) -> Access {
    let (thread, addr) = (thread(rng), address(rng));
    let (epoch, len) = (rng.below(3) as u32, rng.below(5) as u64);
    let (store, atomic) = (rng.below(4) > 0, rng.below(4) == 0);
    Access { thread, site: Site(0), epoch, addr, len, store, atomic }
}
