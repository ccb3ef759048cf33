//! Programs for the fake engine, and what is needed to run them.

use super::{EngineOptions, Program};
use crate::campaign::judge::Rules;
use crate::campaign::setup::Setup;
use crate::campaign::{Campaign, Observer, Order, run};
use crate::cli::{ExpectExit, Limits, Races};
use crate::engine::fake::Fake;
use crate::target::Target;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wmtrace_decoder::orders::Assume;
use wmtrace_model::op::ModelKind;
use wmtrace_model::strategy::StrategyKind;

/// Message passing with plain data: a race, and a wrong value.
pub(crate) const MP: &str = "C MP
{}
P0 (int* data, atomic_int* flag) {
  *data = 1;
  atomic_store_explicit(flag, 1, memory_order_relaxed);
}
P1 (int* data, atomic_int* flag) {
  int r0 = atomic_load_explicit(flag, memory_order_relaxed);
  int r1 = 2;
  if (r0) {
    r1 = *data;
  }
}
exists (1:r0=1 /\\ 1:r1=0)";

/// The same with release and acquire: right.
pub(crate) const MP_RIGHT: &str = "C MP
{}
P0 (int* data, atomic_int* flag) {
  *data = 1;
  atomic_store_explicit(flag, 1, memory_order_release);
}
P1 (int* data, atomic_int* flag) {
  int r0 = atomic_load_explicit(flag, memory_order_acquire);
  int r1 = 2;
  if (r0) {
    r1 = *data;
  }
}
exists (1:r0=1 /\\ 1:r1=0)";

/// Store buffering.
pub(crate) const SB: &str = "C SB
{}
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  int r0 = atomic_load_explicit(y, memory_order_relaxed);
}
P1 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(y, 1, memory_order_relaxed);
  int r0 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (0:r0=0 /\\ 1:r0=0)";

/// A thread that waits for ever.
pub(crate) const SPIN: &str = "C SPIN
{}
P0 (atomic_int* x) {
  int r0 = 0;
  while (r0 == 0) {
    r0 = atomic_load_explicit(x, memory_order_relaxed);
  }
}
P1 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(y, 1, memory_order_relaxed);
}
exists (0:r0=5)";

/// A directory of this test's own, gone when it ends.
pub(crate) struct Directory(pub(crate) PathBuf);

impl Directory {
    pub(crate) fn new(test: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("wmtrace-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn setup(model: ModelKind) -> Setup {
    let path = PathBuf::from("/opt/fake");
    Setup {
        because: "asked for",
        target: Target { path: path.clone(), arch: "x86_64", build_id: "1234".to_string() },
        program: Program {
            name: path.clone().into(),
            told: path.clone(),
            path,
            args: vec!["--flag".into()],
            env: vec![("HOME".into(), "/root".into())],
            cwd: "/".into(),
            stdin: vec![0xff, 0],
            conditions: crate::conditions::Conditions::default(),
        },
        engine: EngineOptions {
            model,
            unsure_is_plain: false,
            assume: Assume::Isa,
            orders: None,
            managed: Vec::new(),
            unmanaged: Vec::new(),
            from: None,
            timeout: Duration::from_secs(10),
            entropy: 1,
            emulator: super::Emulator::default(),
            files: super::FileOptions::default(),
            verify: false,
        },
        rules: Rules { expect_exit: ExpectExit::Status(0), races: Races::Auto, limits: Limits::Inconclusive },
        max_events: 1000,
        mo_insertion: true,
        suppressions: crate::suppress::Suppressions::default(),
    }
}

pub(crate) fn order(out: &Path, runs: u64) -> Order {
    Order {
        strategy: StrategyKind::Random,
        mixed: false,
        depth: None,
        events: None,
        history: 1,
        seed: 1,
        runs,
        time: None,
        jobs: 1,
        keep_going: true,
        verify: false,
        out: out.to_owned(),
    }
}

pub(crate) struct Nobody;

impl Observer for Nobody {
    fn executed(&mut self, _buggy: bool, _given_up: bool) {}
}

/// A campaign of the fake program.
pub(crate) fn campaign(fake: &Fake, setup: &Setup, order: &Order) -> Campaign {
    run(&fake, setup, order, &mut Nobody)
}
