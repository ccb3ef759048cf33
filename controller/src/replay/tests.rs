//! Recordings of the fake engine's campaigns, replayed: every bug happens again, and nothing else is taken for it.

use super::*;
use crate::cli::Limits;
use crate::engine::Fault;
use crate::engine::fake::{Fake, FakeEngine};
use crate::engine::fake_programs::{Directory, MP, MP_RIGHT, SB, SPIN, campaign, order, setup};
use wmtrace_model::op::ModelKind;

/// The recordings of a campaign's bugs.
fn record(fake: &Fake, setup: &Setup, out: &Directory) -> Vec<Bug> {
    let found = campaign(fake, setup, &order(&out.0, 50));
    assert!(found.failure.is_none() && !found.bugs.is_empty());
    found.bugs
}

fn again<'a>(fake: &'a Fake, path: &Path) -> Result<Replayed<FakeEngine<'a>>, Refused> {
    let (recording, saved) = saved::read(path).map_err(Refused::input)?;
    let setup = saved.with_target(recording.model, setup(recording.model).target)?;
    replay(&fake, &recording, saved, setup)
}

#[test]
fn every_bug_happens_again() {
    let out = Directory::new("again");
    for model in [ModelKind::C11, ModelKind::Tso, ModelKind::Pso] {
        for (text, end) in [
            (MP, End::Exited(0)),
            (SB, End::Exited(0)),
            (SPIN, End::Exited(0)),
            (MP_RIGHT, End::Exited(7)),
            (
                MP_RIGHT,
                End::Killed {
                    signal: libc::SIGSEGV,
                    thread: None,
                    fault: Some(Fault { code: 1, address: 0 }),
                },
            ),
            (MP_RIGHT, End::TimedOut),
            (MP_RIGHT, End::Deadlock),
        ] {
            let fake = Fake { end: end.clone(), ..Fake::new(text) };
            // Only c11 has races.
            if text == MP && model != ModelKind::C11 {
                continue;
            }
            let mut setup = setup(model);
            if end == End::TimedOut {
                setup.rules.limits = Limits::Bug;
            }
            for bug in record(&fake, &setup, &out) {
                let replayed = again(&fake, bug.recording.as_ref().unwrap());
                let replayed = replayed.unwrap_or_else(|refused| panic!("{end:?}: {refused:?}"));
                assert_eq!(replayed.bug.key, bug.key);
                assert_eq!(replayed.bug.detail, bug.detail, "the same report");
                assert_eq!(replayed.bug.first_execution, bug.first_execution);
            }
        }
    }
}

#[test]
fn what_the_program_was_started_with_is_kept() {
    let out = Directory::new("kept");
    let mut given = setup(ModelKind::C11);
    given.engine.managed = vec!["libx".to_string()];
    given.engine.orders = Some("a.c:1 relaxed".to_string());
    let bugs = record(&Fake::new(SB), &given, &out);
    let (recording, saved) = saved::read(bugs[0].recording.as_ref().unwrap()).unwrap();
    let mut kept = saved.with_target(recording.model, given.target.clone()).unwrap();
    assert_eq!(std::mem::replace(&mut kept.because, given.because), "as recorded");
    assert_eq!(format!("{kept:?}"), format!("{given:?}"));
}

#[test]
fn another_program_diverges() {
    let out = Directory::new("diverges");
    let path = record(&Fake::new(SB), &setup(ModelKind::C11), &out)[0].recording.clone().unwrap();
    let refused = again(&Fake::new(MP), &path).map(|_| ()).unwrap_err();
    assert_eq!(refused.exit, Exit::Tool);
    assert!(
        refused.message.starts_with("the execution is not the recorded one: step "),
        "{}",
        refused.message
    );
}

#[test]
fn the_same_steps_without_the_bug_are_an_error() {
    let out = Directory::new("without");
    let failing = Fake { end: End::Exited(1), ..Fake::new(MP_RIGHT) };
    let path = record(&failing, &setup(ModelKind::C11), &out)[0].recording.clone().unwrap();
    let refused = again(&Fake::new(MP_RIGHT), &path).map(|_| ()).unwrap_err();
    assert_eq!(refused.exit, Exit::Tool);
    assert!(refused.message.contains("has not happened again"), "{}", refused.message);
}

/// Libraries lie elsewhere when the dynamic linker's cache has another size: who has installed a package is told.
#[test]
fn other_packages_are_named_when_a_replay_diverges() {
    let out = Directory::new("packages");
    let path = record(&Fake::new(SB), &setup(ModelKind::C11), &out)[0].recording.clone().unwrap();
    let (recording, mut saved) = saved::read(&path).unwrap();
    let mut message = || {
        let setup = saved.with_target(recording.model, setup(recording.model).target).unwrap();
        let refused = replay(&&Fake::new(MP), &recording, saved.clone(), setup).map(|_| ()).unwrap_err();
        saved.linker_cache = Some(1);
        refused.message
    };
    assert!(!message().contains("packages"));
    let changed = message();
    assert!(
        changed.contains("packages were installed or removed since (/etc/ld.so.cache is another)"),
        "{changed}"
    );
}

#[test]
fn another_build_is_refused() {
    let out = Directory::new("build");
    let path = record(&Fake::new(SB), &setup(ModelKind::C11), &out)[0].recording.clone().unwrap();
    // A library under the model.
    let rebuilt = Fake { build_id: "5678", ..Fake::new(SB) };
    let refused = again(&rebuilt, &path).map(|_| ()).unwrap_err();
    assert_eq!(refused.exit, Exit::Usage);
    assert_eq!(refused.message, "/opt/fake is another build than the recorded one");
    // The program itself: here this very test, which is not what was recorded.
    let (mut recording, saved) = saved::read(&path).unwrap();
    let mut value: serde_json::Value = serde_json::to_value(&saved).unwrap();
    value["program"] = serde_json::json!(std::env::current_exe().unwrap());
    recording.options = value.to_string();
    let saved: Saved = serde_json::from_value(value).unwrap();
    let refused = Refused::from(saved.setup(&recording, &path, None).unwrap_err());
    assert_eq!(refused.exit, Exit::Usage);
    assert!(refused.message.contains("is another build of the program"), "{}", refused.message);
}

/// A recording as older versions have written it: without what is noted today. It is read, and replays.
#[test]
fn recordings_of_older_versions_are_read_or_their_version_is_named() {
    let out = Directory::new("older");
    let path = record(&Fake::new(SB), &setup(ModelKind::C11), &out)[0].recording.clone().unwrap();
    let (recording, saved) = saved::read(&path).unwrap();
    let written = |change: &dyn Fn(&mut serde_json::Map<String, serde_json::Value>)| {
        let (mut recording, mut value) = (recording.clone(), serde_json::to_value(&saved).unwrap());
        let fields = value.as_object_mut().unwrap();
        fields.insert("wmtrace".to_owned(), "0.0.9".into());
        change(fields);
        recording.options = value.to_string();
        std::fs::write(&path, recording.to_bytes()).unwrap();
    };
    written(&|fields| {
        for since in
            ["name", "qemu", "sysroot", "mo_insertion", "linker_cache", "conditions", "cut", "scrubbed"]
        {
            assert!(fields.remove(since).is_some(), "{since}");
        }
        // Without it, stores may not overtake others.
        fields.insert("mo_insertion".to_owned(), true.into());
    });
    assert!(again(&Fake::new(SB), &path).is_ok(), "it is read");
    let diverged = again(&Fake::new(MP), &path).map(|_| ()).unwrap_err().message;
    assert!(
        diverged.ends_with("since it was recorded: wmtrace 0.0.9 has written the recording"),
        "{diverged}"
    );
    written(&|fields| {
        fields.remove("entropy");
    });
    let refused = again(&Fake::new(SB), &path).map(|_| ()).unwrap_err();
    assert_eq!(refused.exit, Exit::Usage);
    assert!(refused.message.contains(": wmtrace 0.0.9 has written the recording"), "{}", refused.message);
    // Another format: its version comes after eight bytes.
    let mut bytes = recording.to_bytes();
    for (version, whose) in [(0, "an older"), (2, "a newer")] {
        bytes[8..10].copy_from_slice(&u16::to_le_bytes(version));
        std::fs::write(&path, &bytes).unwrap();
        let refused = again(&Fake::new(SB), &path).map(|_| ()).unwrap_err();
        let expected = format!("format version {version}, of {whose} wmtrace than this one");
        assert!(refused.exit == Exit::Usage && refused.message.contains(&expected), "{}", refused.message);
    }
}

/// A replay that diverges has a reason, or says that none is known.
#[test]
fn causes_are_named() {
    let out = Directory::new("causes");
    let path = record(&Fake::new(SB), &setup(ModelKind::C11), &out)[0].recording.clone().unwrap();
    let (recording, saved) = saved::read(&path).unwrap();
    let message = |change: &dyn Fn(&mut Setup)| {
        let mut setup = saved.with_target(recording.model, setup(recording.model).target).unwrap();
        change(&mut setup);
        replay(&&Fake::new(MP), &recording, saved.clone(), setup).map(|_| ()).unwrap_err().message
    };
    let unknown = message(&|_| ());
    assert!(unknown.contains("; nothing that wmtrace knows of has changed since"), "{unknown}");
    let moved = message(&|setup| setup.program.path = "/usr/local/bin/fake".into());
    assert!(moved.ends_with("; since it was recorded: the program was /opt/fake"), "{moved}");
    let elsewhere = message(&|setup| setup.program.cwd = "/tmp".into());
    assert!(
        elsewhere.contains("the directory that it ran in is not there (/), so that it runs in"),
        "{elsewhere}"
    );
}

/// Damaged files, and files with a right checksum whose content is nonsense: an error each time, never a panic.
#[test]
fn hostile_recordings_are_refused() {
    let out = Directory::new("hostile");
    let path = record(&Fake::new(SB), &setup(ModelKind::C11), &out)[0].recording.clone().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let bad = out.0.join("bad.wmtrec");
    let refuse = |bytes: &[u8]| {
        std::fs::write(&bad, bytes).unwrap();
        let refused = again(&Fake::new(SB), &bad).map(|_| ()).unwrap_err();
        assert!(!refused.message.contains('\n') && refused.exit != Exit::Clean, "{refused:?}");
        refused
    };
    for at in (0..bytes.len()).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x41;
        assert_eq!(refuse(&damaged).exit, Exit::Usage);
        assert_eq!(refuse(&bytes[..at]).exit, Exit::Usage);
    }
    let (recording, saved) = saved::read(&path).unwrap();
    let with = |change: &dyn Fn(&mut Recording, &mut serde_json::Value)| {
        let (mut recording, mut value) = (recording.clone(), serde_json::to_value(&saved).unwrap());
        change(&mut recording, &mut value);
        recording.options = value.to_string();
        refuse(&recording.to_bytes())
    };
    assert_eq!(with(&|_, value| *value = serde_json::json!([1, 2])).exit, Exit::Usage);
    assert_eq!(with(&|_, value| value["assume"] = "strong".into()).exit, Exit::Usage);
    assert_eq!(with(&|_, value| value["env"] = "no".into()).exit, Exit::Usage);
    assert_eq!(with(&|_, value| value["max_events"] = 0.into()).exit, Exit::Tool);
    assert_eq!(with(&|_, value| value["bug"]["kind"] = "race".into()).exit, Exit::Tool);
    assert_eq!(with(&|recording, _| recording.steps.clear()).exit, Exit::Usage, "values of no step");
    let empty = |recording: &mut Recording, _: &mut serde_json::Value| {
        recording.steps.clear();
        recording.values.clear();
    };
    assert_eq!(with(&empty).exit, Exit::Tool);
    assert_eq!(with(&|recording, _| recording.steps.reverse()).exit, Exit::Tool);
    assert_eq!(with(&|recording, _| recording.model = ModelKind::Sc).exit, Exit::Tool);
    assert_eq!(again(&Fake::new(SB), &out.0).map(|_| ()).unwrap_err().exit, Exit::Usage);
}

#[test]
fn choices_belong_to_their_events() {
    let out = Directory::new("choices");
    let path = record(&Fake::new(SB), &setup(ModelKind::C11), &out)[0].recording.clone().unwrap();
    let fake = Fake::new(SB);
    let replayed = again(&fake, &path).map_err(|refused| refused.message).unwrap();
    // Both loads read 0; the one that comes after the other thread's store had the choice, and took the older.
    assert!(!replayed.choices.is_empty());
    for choice in &replayed.choices {
        let event = replayed.execution.event(choice.event);
        assert!(event.label.rf().is_some());
        assert_eq!((choice.count, choice.chosen), (2, 0));
    }
}
