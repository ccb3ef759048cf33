//! End-to-end tests of `wmtrace PROGRAM` over the programs of targets/programs (see its README), and over tools that
//! everybody has.
//!
//! `WMTRACE_TEST_EXECUTIONS` says how many executions a program that is right must survive, over all strategies
//! (140; `scripts/test-long` takes 2,000: then the tables are whole, else the rows that differ least from others are
//! left out), and `WMTRACE_TEST_ONLY` limits the tables to paths that contain it.

mod aarch64;
mod aarch64_libraries;
mod aarch64_llvm;
mod assembly;
mod build;
mod causes;
mod clean;
mod containers;
mod determinism;
mod differential;
mod evidence;
mod exhausted;
mod files;
mod forms;
mod from;
mod kills;
mod kinds;
mod limits;
mod linked;
mod litmus_to_c;
mod managed;
mod native;
mod promises;
mod random_litmus;
mod recordings;
mod replays;
mod robustness;
mod run;
mod source;
mod time;
mod transparency;
mod unknown;
mod verdicts;
mod words;
mod wrapped;
