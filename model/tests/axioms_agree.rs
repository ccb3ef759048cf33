//! `axioms::certify` and the oracle give the same verdict on every candidate execution of small random
//! programs, also on those that no machine would produce.
//!
//! This is what keeps certificates from being too kind: the machine's own executions can only show that they
//! are not too strict.

#[allow(dead_code, reason = "each test binary uses its own part of the oracle")]
mod oracle;

use oracle::candidate::{Candidate, Which, candidates};
use oracle::walk::Kind;
use oracle::{Model, Reading, random};
use wmtrace_model::axioms::certify;
use wmtrace_model::execution::{Event, EventId, Execution, Label, Mo, Rf, Source};
use wmtrace_model::litmus::program::Program;
use wmtrace_model::op::{ModelKind, Site, ThreadId};

const SEED: u64 = 20_260_102;
const PROGRAMS: u64 = 6_000;
/// Programs with more candidates contribute the coherent ones only, and those with more of these nothing.
const MAX_CANDIDATES: usize = 500;

/// The events in an order that puts each after its thread's earlier ones and each read after its source; `None`
/// if there is none. Of several events that could come next, `choose` takes one.
fn linearise(candidate: &Candidate, choose: impl Fn(usize) -> usize) -> Option<Vec<usize>> {
    let before = candidate.po | candidate.rf;
    let mut rest: Vec<usize> = (0..candidate.events.len()).collect();
    let mut order = Vec::new();
    while !rest.is_empty() {
        let free = |&&event: &&usize| rest.iter().all(|&other| !before.contains(other, event));
        let ready: Vec<usize> = rest.iter().filter(free).copied().collect();
        if ready.is_empty() {
            return None;
        }
        let next = ready[choose(ready.len())];
        rest.retain(|&event| event != next);
        order.push(next);
    }
    Some(order)
}

/// The candidate as the machine would have recorded it.
fn execution(program: &Program, candidate: &Candidate, order: &[usize], model: ModelKind) -> Execution {
    let mut execution = Execution::new(model);
    // Where each event of the candidate is in the execution; initial writes are not.
    let mut ids: Vec<Option<EventId>> = vec![None; candidate.events.len()];
    let initial = |&index: &usize| candidate.events[index].thread.is_none();
    let mut written: Vec<usize> = order.iter().copied().filter(initial).collect();
    for &index in order {
        let event = &candidate.events[index];
        let Some(thread) = event.thread else { continue };
        let source = |index: usize| ids[index].map_or(Source::Init, Source::Store);
        let location = event.at.map(|at| &program.locations[at]);
        let at = || location.expect("an access").place;
        let bytes = |value: Option<i64>| location.expect("an access").encode(value.expect("resolved"));
        let rf = || {
            let from = (0..candidate.events.len()).find(|&from| candidate.rf.contains(from, index));
            Rf::One(source(from.expect("every read has a source")))
        };
        // The nearest of the writes so far that precede it; `Last` where that is the same.
        let mo = || {
            let here = written.iter().copied().filter(|&other| candidate.events[other].at == event.at);
            let (earlier, later): (Vec<usize>, Vec<usize>) =
                here.partition(|&other| candidate.mo.contains(other, index));
            let nearest = earlier.iter().find(|&&a| earlier.iter().all(|&b| !candidate.mo.contains(a, b)));
            let nearest = *nearest.expect("the initial write precedes all");
            if later.is_empty() { Mo::Last } else { Mo::After(source(nearest)) }
        };
        let order = event.order;
        let label = match event.kind {
            Kind::Read { locked } => {
                Label::Load { at: at(), order, value: bytes(event.read), rf: rf(), locked }
            }
            Kind::Write => Label::Store { at: at(), order, value: bytes(event.written), mo: mo() },
            Kind::Rmw => {
                let (read, written) = (bytes(event.read), bytes(event.written));
                Label::Rmw { at: at(), order, read, rf: rf(), written, mo: mo() }
            }
            Kind::Fence => Label::Fence { order },
        };
        ids[index] = Some(EventId(execution.events.len() as u32));
        if event.writes() {
            written.push(index);
        }
        execution.events.push(Event {
            thread: ThreadId(thread as u32),
            site: Site::default(),
            epoch: 1,
            label,
        });
    }
    execution
}

/// The candidates to judge.
fn sample(program: &Program) -> Option<Vec<Candidate>> {
    [Which::All, Which::Coherent].into_iter().find_map(|which| {
        let mut found = Vec::new();
        candidates(program, 0, which, MAX_CANDIDATES, &mut |it| found.push(it.clone())).ok().map(|()| found)
    })
}

/// What `certify` claims to check.
const fn axioms(model: ModelKind) -> Model {
    match model {
        ModelKind::Sc => Model::Sc,
        ModelKind::Tso => Model::Tso,
        ModelKind::Pso => Model::Pso,
        ModelKind::Pslo => Model::Pslo,
        ModelKind::C11 => Model::C11(Reading::Strong),
    }
}

#[test]
fn certificates_are_the_axioms() {
    let mut verdicts = 0u64;
    let mut allowed = [0u64; ModelKind::ALL.len()];
    for program in (0..).map(|index| random::program(SEED, index)).take(PROGRAMS as usize) {
        let sc_accesses = random::contents(&program).sc_accesses;
        for (number, candidate) in sample(&program).into_iter().flatten().enumerate() {
            // Now the earliest of those that are free, now the latest: certificates must not depend on it.
            let Some(order) = linearise(&candidate, |count| if number % 2 == 0 { 0 } else { count - 1 })
            else {
                continue;
            };
            let coherent = candidate.is_coherent();
            for (model, allowed) in ModelKind::ALL.into_iter().zip(&mut allowed) {
                let expected = coherent && axioms(model).allows(&candidate);
                let execution = execution(&program, &candidate, &order, model);
                let verdict = certify(&execution);
                assert_eq!(
                    verdict.is_ok(),
                    expected,
                    "{model}: the certificate (left) and the oracle (right): {verdict:?}\n{}\n{}",
                    random::show(&program),
                    random::show_execution(&execution)
                );
                *allowed += u64::from(expected);
                // Without SC accesses the strong form of the SC axiom is RC11's own.
                if model == ModelKind::C11 && !sc_accesses && coherent {
                    assert_eq!(expected, Model::C11(Reading::Rc11).allows(&candidate));
                }
            }
            verdicts += 1;
        }
    }
    println!("{verdicts} candidates; allowed by sc, tso, pso, pslo, c11: {allowed:?}");
    // Each model is told apart from the next by many candidates, and forbids many.
    let steps = allowed.iter().zip(allowed.iter().skip(1).chain([&verdicts]));
    assert!(steps.into_iter().all(|(stronger, weaker)| weaker - stronger > 1000), "{allowed:?}");
}
