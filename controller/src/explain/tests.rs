//! Explanations of executions of the fake engine.

use super::*;
use crate::campaign::Order;
use crate::engine::fake::Fake;
use crate::engine::fake_programs::{Directory, MP, SB, SPIN, campaign, order, setup};
use crate::saved;
use wmtrace_model::execution::{Event, Execution, Label, Mo, Rf, Source};
use wmtrace_model::op::{Addr, Place, Site, ThreadId};
use wmtrace_model::order::Order as MemoryOrder;
use wmtrace_model::strategy::StrategyKind;

use Explained::{Dot, Html, Text};

fn explained(test: &str, program: &str, model: ModelKind, all: bool, format: Explained) -> String {
    let fake = Fake::new(program);
    explain(&replayed(test, &fake, model), all, format)
}

fn replayed<'a>(test: &str, fake: &'a Fake, model: ModelKind) -> Replayed<<&'a Fake as Launch>::Engine> {
    let out = Directory::new(&format!("explain-{test}"));
    // Under pso pctwm hardly ever holds a store back for long.
    let strategy = if model == ModelKind::Pso { StrategyKind::Random } else { StrategyKind::Pctwm };
    let order = Order { strategy, ..order(&out.0, 1000) };
    let found = campaign(fake, &setup(model), &order);
    let (recording, saved) =
        saved::read(found.bugs.first().expect(test).recording.as_ref().unwrap()).unwrap();
    let setup = saved.with_target(recording.model, setup(model).target).unwrap();
    replay::replay(&fake, &recording, saved, setup).map_err(|refused| refused.message).unwrap()
}

#[test]
fn message_passing() {
    insta::assert_snapshot!(explained("mp", MP, ModelKind::C11, false, Text));
}

#[test]
fn store_buffering() {
    insta::assert_snapshot!(explained("sb", SB, ModelKind::C11, false, Text));
    insta::assert_snapshot!(explained("sb-tso", SB, ModelKind::Tso, true, Text));
}

#[test]
fn a_graph() {
    insta::assert_snapshot!(explained("dot", SB, ModelKind::C11, false, Dot));
}

#[test]
fn what_needs_no_weak_memory_says_so() {
    let text = explained("spin", SPIN, ModelKind::C11, false, Text);
    assert!(text.contains("an interleaving of the threads is enough"), "{text}");
}

/// Two readers that see two stores in opposite orders.
const IRIW: &str = "C IRIW
{}
P0 (atomic_int* x) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
}
P1 (atomic_int* y) {
  atomic_store_explicit(y, 1, memory_order_relaxed);
}
P2 (atomic_int* x, atomic_int* y) {
  int r0 = atomic_load_explicit(x, memory_order_relaxed);
  int r1 = atomic_load_explicit(y, memory_order_relaxed);
}
P3 (atomic_int* x, atomic_int* y) {
  int r0 = atomic_load_explicit(y, memory_order_relaxed);
  int r1 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (2:r0=1 /\\ 2:r1=0 /\\ 3:r0=1 /\\ 3:r1=0)";

/// Message passing through two threads.
const WRC: &str = "C WRC
{}
P0 (atomic_int* x) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
}
P1 (atomic_int* x, atomic_int* y) {
  int r0 = atomic_load_explicit(x, memory_order_relaxed);
  atomic_store_explicit(y, 1, memory_order_relaxed);
}
P2 (atomic_int* x, atomic_int* y) {
  int r0 = atomic_load_explicit(y, memory_order_relaxed);
  int r1 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (1:r0=1 /\\ 2:r0=1 /\\ 2:r1=0)";

/// Message passing of atomics.
const MP_ATOMIC: &str = "C MP
{}
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_store_explicit(y, 1, memory_order_relaxed);
}
P1 (atomic_int* x, atomic_int* y) {
  int r0 = atomic_load_explicit(y, memory_order_relaxed);
  int r1 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (1:r0=1 /\\ 1:r1=0)";

/// What no interleaving does is said to be so, also where every load has read the newest store that was there, and what
/// is advised is enough and no more.
#[test]
fn circles() {
    let readers = explained("iriw", IRIW, ModelKind::C11, false, Text);
    assert!(readers.contains("goes round in a circle"), "{readers}");
    assert!(readers.contains("it takes seq_cst on all"), "{readers}");
    let chain = explained("wrc", WRC, ModelKind::C11, false, Text);
    assert!(chain.contains("goes round in a circle"), "{chain}");
    assert!(chain.contains("Release and acquire where one thread reads"), "{chain}");
    let held = explained("mp-pso", MP_ATOMIC, ModelKind::Pso, false, Text);
    assert!(held.contains("goes round in a circle"), "{held}");
    assert!(held.contains("A fence in between"), "{held}");
    for text in [readers, chain, held] {
        assert!(!text.contains("is enough for this bug"), "{text}");
    }
}

/// Memory that others have written begins a new life: who reads its initial value then has missed nothing, and replaced
/// nothing (a word of a stack that is used again and again).
#[test]
fn lives_are_told_apart() {
    let at = Place::new(Addr(0x1000), 4);
    let store = Label::Store { at, order: MemoryOrder::Relaxed, value: 1, mo: Mo::Last };
    let load =
        Label::Load { at, order: MemoryOrder::Relaxed, value: 7, rf: Rf::One(Source::Init), locked: false };
    let with = |others: Label| {
        let mut execution = Execution::new(ModelKind::Sc);
        execution.events.extend([store, others, load].map(|label| Event {
            thread: ThreadId(0),
            site: Site(0),
            epoch: 0,
            label,
        }));
        let graph = Graph::new(&execution);
        (graph.stale.len(), cycle::find(&graph).is_some())
    };
    // An access of 4 bytes meets what begins in its last one, and not what ends before its first.
    assert_eq!(with(Label::Foreign { at: Addr(0x1003), len: 8 }), (0, false));
    assert_eq!(with(Label::Foreign { at: Addr(0xff8), len: 8 }), (1, true));
}

#[test]
fn a_page() {
    insta::assert_snapshot!(explained("html", MP, ModelKind::C11, false, Html));
}

/// Names, messages and output of a program are text, whatever they say.
#[test]
fn a_page_of_a_hostile_program() {
    const EVIL: &str = "</style></pre><script>alert(1)</script>\"' onload=x &lt; \u{1b}[31m\u{9b}\u{202e}";
    let fake = Fake::new(MP);
    let mut replayed = replayed("hostile", &fake, ModelKind::C11);
    replayed.setup.program.path = format!("/opt/{}", EVIL.replace('/', "|")).into();
    let bug = &mut replayed.bug;
    bug.recording = Some(EVIL.into());
    let detail = &mut bug.detail;
    detail.message = EVIL.into();
    (detail.stdout, detail.stderr) = (EVIL.into(), vec![0, 0xff, b'<']);
    for side in &mut detail.sides {
        side.instruction = EVIL.into();
        for place in &mut side.stack {
            (place.function, place.file, place.module) = (Some(EVIL.into()), Some(EVIL.into()), EVIL.into());
        }
    }
    for format in [Html, Dot, Text] {
        let page = explain(&replayed, true, format);
        assert!(!page.chars().any(|char| char.is_control() && char != '\n'), "{page}");
        assert!(!page.contains('\u{202e}') || format == Dot, "{page}");
        assert!(!page.contains("<script") || format != Html, "{page}");
    }
    let page = explain(&replayed, true, Html);
    for once in ["</style>", "<body>", "<main>", "</html>"] {
        assert_eq!(page.matches(once).count(), 1, "{once}: {page}");
    }
    assert!(page.matches("&lt;script&gt;").count() >= 5, "{page}");
}

#[test]
fn paragraphs_are_wrapped() {
    let text = wrapped(&"word ".repeat(60));
    assert!(text.lines().count() > 1 && text.lines().all(|line| line.chars().count() <= 110), "{text}");
}
