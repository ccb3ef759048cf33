//! Explanations of executions of the fake engine.

use super::*;
use crate::campaign::Order;
use crate::engine::fake::Fake;
use crate::engine::fake_programs::{Directory, MP, SB, SPIN, campaign, order, setup};
use crate::saved;
use wmtrace_model::strategy::StrategyKind;

fn explained(test: &str, program: &str, model: ModelKind, all: bool, dot: bool) -> String {
    let out = Directory::new(&format!("explain-{test}"));
    let fake = Fake::new(program);
    let order = Order { strategy: StrategyKind::Pctwm, ..order(&out.0, 100) };
    let found = campaign(&fake, &setup(model), &order);
    let (recording, saved) = saved::read(found.bugs[0].recording.as_ref().unwrap()).unwrap();
    let setup = saved.with_target(recording.model, setup(model).target).unwrap();
    let replayed =
        replay::replay(&&fake, &recording, saved, setup).map_err(|refused| refused.message).unwrap();
    explain(&replayed, all, dot)
}

#[test]
fn message_passing() {
    insta::assert_snapshot!(explained("mp", MP, ModelKind::C11, false, false));
}

#[test]
fn store_buffering() {
    insta::assert_snapshot!(explained("sb", SB, ModelKind::C11, false, false));
    insta::assert_snapshot!(explained("sb-tso", SB, ModelKind::Tso, true, false));
}

#[test]
fn a_graph() {
    insta::assert_snapshot!(explained("dot", SB, ModelKind::C11, false, true));
}

#[test]
fn what_needs_no_weak_memory_says_so() {
    let text = explained("spin", SPIN, ModelKind::C11, false, false);
    assert!(text.contains("an interleaving of the threads is enough"), "{text}");
}

#[test]
fn paragraphs_are_wrapped() {
    let text = wrapped(&"word ".repeat(60));
    assert!(text.lines().count() > 1 && text.lines().all(|line| line.chars().count() <= 110), "{text}");
}
