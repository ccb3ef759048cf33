//! Campaigns of the fake engine. `random` finds the race of MP in 100 executions: P0's two stores come first with
//! probability at least 1/4, and then P1 reads the flag's new value with probability 1/2, so the chance of missing it is
//! below (7/8)^100, one in 600,000; and the seed is fixed.

use super::*;
use crate::bug::Kind;
use crate::cli::{ExpectExit, Limits, Races};
use crate::engine::fake::Fake;
use crate::engine::fake_programs::{Directory, MP, MP_RIGHT, SB, SPIN, campaign, order, setup};
use crate::engine::{End, EngineError, Fault};
use crate::target::Target;
use wmtrace_model::op::ThreadId;

fn kinds(campaign: &Campaign) -> Vec<Kind> {
    campaign.bugs.iter().map(|bug| bug.key.kind).collect()
}

#[test]
fn a_race_is_one_bug_with_a_count() {
    let out = Directory::new("race");
    let found = campaign(&Fake::new(MP), &setup(ModelKind::C11), &order(&out.0, 100));
    assert!(found.failure.is_none() && found.warnings.is_empty(), "{found:?}");
    assert_eq!((found.executions, found.stop), (100, Stop::Done));
    let race = found.bugs.iter().find(|bug| bug.key.kind == Kind::Race).unwrap();
    assert!(race.count > 1 && race.count <= found.buggy, "{race:?}");
    assert!(race.detail.certified);
    let lines: Vec<u32> = race.detail.sides.iter().map(|side| side.stack[0].line).collect();
    assert_eq!(lines, [4, 11]);
    assert!(race.detail.message.contains("t0 stores 4 bytes"), "{}", race.detail.message);
    assert_eq!((kinds(&found), race.count), (vec![Kind::Race], found.buggy));
    assert!(race.recording.as_ref().is_some_and(|path| path.is_file()));
}

#[test]
fn the_right_program_is_clean() {
    let out = Directory::new("right");
    for strategy in StrategyKind::ALL {
        let order = Order { strategy, ..order(&out.0, 300) };
        let found = campaign(&Fake::new(MP_RIGHT), &setup(ModelKind::C11), &order);
        assert!(found.failure.is_none());
        assert_eq!((found.executions, found.buggy, found.bugs.len()), (300, 0, 0), "{strategy}");
    }
    assert!(!out.0.exists(), "no bug, no directory");
}

/// Everything that a report shows, for comparison.
fn digest(campaign: &Campaign) -> String {
    let bugs = campaign.bugs.iter().map(|bug| {
        format!("{:?} {} {} {} {:?}", bug.key, bug.count, bug.first_execution, bug.depth, bug.detail)
    });
    let Campaign { executions, buggy, events, stop, parameters, .. } = campaign;
    format!("{executions} {buggy} {events} {stop:?} {parameters:?}\n{}", bugs.collect::<Vec<_>>().join("\n"))
}

#[test]
fn results_do_not_depend_on_the_number_of_workers() {
    let out = Directory::new("jobs");
    for strategy in [StrategyKind::Pctwm, StrategyKind::Random] {
        for keep_going in [true, false] {
            for seed in 0..10 {
                let with = |jobs| {
                    let order = Order { jobs, keep_going, strategy, seed, ..order(&out.0, 70) };
                    digest(&campaign(&Fake::new(MP), &setup(ModelKind::C11), &order))
                };
                let one = with(1);
                assert_eq!(one, with(4), "{strategy} {seed}");
                assert_eq!(one, with(32));
            }
        }
    }
}

/// Workers that take from each other what they need leave, until there is enough; what is found is the same. A program that
/// lacks something although nothing else runs is not accused.
#[test]
fn workers_leave_until_there_is_enough() {
    let out = Directory::new("crowd");
    let with = |jobs, enough_for| {
        let fake = Fake { enough_for, ..Fake::new(MP) };
        campaign(&fake, &setup(ModelKind::C11), &Order { jobs, ..order(&out.0, 70) })
    };
    let one = with(1, 1);
    assert!(one.warnings.is_empty() && !one.bugs.is_empty());
    for (jobs, enough_for) in [(4, 3), (16, 1)] {
        let found = with(jobs, enough_for);
        assert_eq!(digest(&found), digest(&one), "{jobs} {enough_for}");
        assert_eq!(found.warnings, ["fewer executions at a time than asked for: no thread for it"]);
    }
    let found = with(4, 0);
    assert!(found.bugs.is_empty() && found.stop == Stop::Failed, "{found:?}");
    assert!(matches!(found.failure, Some(Failure::Engine(EngineError::Exhausted(_)))));
    // Without a bug there is nothing to accuse it of.
    let fake = Fake { enough_for: 0, ..Fake::new(MP_RIGHT) };
    let found = campaign(&fake, &setup(ModelKind::C11), &order(&out.0, 20));
    assert_eq!((found.executions, found.warnings), (20, vec!["no thread for it".to_string()]));
}

#[test]
fn a_campaign_stops_at_the_first_bug() {
    let out = Directory::new("first");
    let all = campaign(&Fake::new(MP), &setup(ModelKind::C11), &order(&out.0, 100));
    let first = all.bugs.iter().map(|bug| bug.first_execution).min().unwrap();
    let order = Order { keep_going: false, ..order(&out.0, 100) };
    let found = campaign(&Fake::new(MP), &setup(ModelKind::C11), &order);
    assert_eq!((found.stop, found.executions, found.buggy), (Stop::FirstBug, first + 1, 1));
    assert!(found.bugs.iter().all(|bug| bug.first_execution == first && bug.count == 1));
}

#[test]
fn store_buffering_is_found_at_depth_0() {
    let out = Directory::new("sb");
    for model in [ModelKind::C11, ModelKind::Tso] {
        let order = Order { strategy: StrategyKind::Pctwm, depth: Some(0), ..order(&out.0, 10) };
        let found = campaign(&Fake::new(SB), &setup(model), &order);
        assert_eq!((found.buggy, kinds(&found)), (10, vec![Kind::Assertion]));
        assert_eq!(found.bugs[0].count, 10);
        assert_eq!(found.bugs[0].detail.message, "fake: fake.c:9: P0: Assertion `ok' failed.");
    }
    let sc = campaign(&Fake::new(SB), &setup(ModelKind::Sc), &order(&out.0, 50));
    assert_eq!(sc.buggy, 0);
}

#[test]
fn races_with_an_unsure_side_are_warnings() {
    let out = Directory::new("unsure");
    let fake = Fake { unsure: true, ..Fake::new(MP) };
    let races = |races| {
        let mut setup = setup(ModelKind::C11);
        setup.rules.races = races;
        let found = campaign(&fake, &setup, &order(&out.0, 100));
        let bugs = found.bugs.iter().filter(|bug| bug.key.kind == Kind::Race).count();
        (bugs, found.possible.len())
    };
    assert_eq!(races(Races::Auto), (0, 1));
    assert_eq!(races(Races::On), (1, 0));
    assert_eq!(races(Races::Off), (0, 0));
}

#[test]
fn ends_are_bugs_of_their_kinds() {
    let out = Directory::new("ends");
    let killed = |signal, fault| End::Killed { signal, thread: Some(ThreadId(1)), fault };
    let panic = "thread 'main' panicked at src/main.rs:3:5:\nboom\n";
    let cases = [
        (End::Exited(3), "", Some((Kind::Exit, "exit status 3, not 0"))),
        (End::Exited(101), panic, Some((Kind::Assertion, "panicked at src/main.rs:3:5: boom"))),
        (End::Exited(101), "", Some((Kind::Exit, "exit status 101"))),
        (End::Exited(0), panic, None),
        (
            killed(libc::SIGSEGV, Some(Fault { code: 1, address: 8 })),
            "",
            Some((Kind::Crash, "SIGSEGV: null pointer + 0x8")),
        ),
        (killed(libc::SIGABRT, None), "", Some((Kind::Assertion, "has called abort()"))),
        (End::Deadlock, "", Some((Kind::Deadlock, "every thread waits: t0 waits, t1 waits"))),
        (End::TimedOut, "", Some((Kind::Timeout, "took too long"))),
    ];
    for (end, stderr, expected) in cases {
        let fake = Fake { end: end.clone(), stderr, ..Fake::new(MP_RIGHT) };
        let mut setup = setup(ModelKind::C11);
        setup.rules.limits = Limits::Bug;
        let found = campaign(&fake, &setup, &order(&out.0, 5));
        match expected {
            None => assert_eq!(found.bugs.len(), 0, "{end:?}"),
            Some((kind, message)) => {
                assert_eq!((kinds(&found), found.bugs[0].count), (vec![kind], 5), "{end:?}");
                let said = &found.bugs[0].detail.message;
                assert!(said.contains(message), "{said}");
            }
        }
    }
    let mut setup = setup(ModelKind::C11);
    for (expect_exit, bugs) in [(ExpectExit::Any, 0), (ExpectExit::Status(3), 0), (ExpectExit::Status(0), 1)]
    {
        setup.rules.expect_exit = expect_exit;
        let fake = Fake { end: End::Exited(3), ..Fake::new(MP_RIGHT) };
        assert_eq!(campaign(&fake, &setup, &order(&out.0, 2)).bugs.len(), bugs);
    }
}

#[test]
fn stuck_and_endless_executions() {
    let out = Directory::new("stuck");
    let livelock = campaign(&Fake::new(SPIN), &setup(ModelKind::C11), &order(&out.0, 3));
    assert_eq!((kinds(&livelock), livelock.buggy), (vec![Kind::Livelock], 3));
    let mut few = setup(ModelKind::C11);
    few.max_events = 3;
    let given_up = campaign(&Fake::new(SB), &few, &order(&out.0, 3));
    assert_eq!((given_up.bugs.len(), given_up.inconclusive.count, given_up.executions), (0, 3, 3));
    let (first, why) = given_up.inconclusive.first.unwrap();
    assert_eq!((first, why.why().as_str()), (0, "max_events: it had more than 3 events (--max-events)"));
    few.rules.limits = Limits::Bug;
    let limited = campaign(&Fake::new(SB), &few, &order(&out.0, 3));
    assert_eq!(kinds(&limited), [Kind::Timeout]);
    assert!(limited.bugs[0].detail.message.contains("--max-events"));
}

#[test]
fn what_is_unsupported_ends_the_campaign() {
    let out = Directory::new("unsupported");
    let fake = Fake { refuses_from: 3, ..Fake::new(MP_RIGHT) };
    let found = campaign(&fake, &setup(ModelKind::C11), &order(&out.0, 100));
    assert_eq!((found.executions, found.stop), (3, Stop::Failed));
    let failure = found.failure.unwrap();
    assert!(matches!(failure, Failure::Engine(EngineError::Unsupported(_))), "{failure}");
}

#[test]
fn verify_finds_what_is_not_under_control() {
    let out = Directory::new("verify");
    let verify = Order { verify: true, ..order(&out.0, 20) };
    let same = campaign(&Fake::new(MP), &setup(ModelKind::C11), &verify);
    assert!(same.failure.is_none() && same.executions == 20 && same.buggy > 0);
    let fake = Fake { random_from: 5, ..Fake::new(MP) };
    let found = campaign(&fake, &setup(ModelKind::C11), &verify);
    // Number 5 of all is the second run of execution 2.
    let Some(Failure::Difference(difference)) = found.failure else { panic!("{found:?}") };
    assert_eq!((difference.execution, found.executions), (2, 2));
    assert!(difference.event.is_some());
    assert!(
        difference.what.contains("the system call read of t") && difference.what.contains(" at fake"),
        "{difference}"
    );
}

#[test]
fn time_is_a_limit() {
    let out = Directory::new("time");
    let order = Order { time: Some(Duration::from_millis(30)), runs: u64::MAX, ..order(&out.0, 0) };
    let found = campaign(&Fake::new(MP_RIGHT), &setup(ModelKind::C11), &order);
    assert_eq!((found.stop, found.failure.is_none()), (Stop::Time, true));
    assert!(found.executions > 0);
}

#[test]
fn a_recording_that_cannot_be_written_is_a_warning() {
    let out = Directory::new("unwritable");
    std::fs::write(&out.0, "a file where the directory should be").unwrap();
    let found = campaign(&Fake::new(SB), &setup(ModelKind::C11), &order(&out.0, 50));
    std::fs::remove_file(&out.0).unwrap();
    assert_eq!((found.bugs.len(), found.warnings.len()), (1, 1));
    assert!(found.bugs[0].recording.is_none());
    assert!(found.warnings[0].starts_with("the recording could not be written"), "{:?}", found.warnings);
}

#[test]
fn names_of_recordings_are_tame() {
    let out = Directory::new("tame");
    let mut setup = setup(ModelKind::C11);
    let path = PathBuf::from("/opt/-a b\u{1b}\n'$x");
    setup.target = Target { path: path.clone(), ..setup.target };
    setup.program.path = path;
    let order = Order { keep_going: false, ..order(&out.0, 50) };
    let found = campaign(&Fake::new(SB), &setup, &order);
    let index = found.bugs[0].first_execution;
    let path = found.bugs[0].recording.clone().unwrap();
    assert_eq!(path, out.0.join(format!("a_b____x-assertion-1-1-{index}.wmtrec")));
    let left: Vec<_> = std::fs::read_dir(&out.0).unwrap().collect();
    assert_eq!(left.len(), 1, "no temporary file is left: {left:?}");
}

/// What a report has named stays, unless it is the same again, or of no use any more.
#[test]
fn recordings_of_other_campaigns_stay() {
    let out = Directory::new("recordings-stay");
    let found = |setup: &Setup| {
        let fake = Fake::new(SB);
        let order = Order { keep_going: false, ..order(&out.0, 1000) };
        let found = campaign(&fake, setup, &order);
        let path = found.bugs[0].recording.clone().unwrap();
        // As if each were the first execution of its campaign.
        let (recording, mut saved) = saved::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        saved.execution = 0;
        saved::write(&out.0, "fake", 1, &saved, &recording).unwrap()
    };
    let name = |path: &std::path::Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let (c11, tso) = (setup(ModelKind::C11), setup(ModelKind::Tso));
    let first = found(&c11);
    assert_eq!(name(&first), "fake-assertion-1-1-0.wmtrec");
    let before = std::fs::read(&first).unwrap();
    assert_eq!(name(&found(&tso)), "fake-assertion-1-1-0.2.wmtrec");
    assert_eq!(std::fs::read(&first).unwrap(), before);
    assert_eq!(found(&c11), first, "the same again");
    let mut other = setup(ModelKind::C11);
    other.program.args.push("more".into());
    assert_eq!(name(&found(&other)), "fake-assertion-1-1-0.3.wmtrec");
    other.target.build_id = "5678".to_string();
    assert_eq!(found(&other), first, "the program was built anew");
}
