//! A recording replays in another world than it was made in, or one line names the cause: another user, directory,
//! environment, stack limit, place of the program …

use crate::build::{CROSS, Flavour, GNU_O0, GNU_O2, NO_PIE, RUST_RELEASE, STATIC};
use crate::containers::deny;
use crate::run::Report;
use crate::source::{Source, Variant, for_each};
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The user `nobody`, who may do nothing.
const NOBODY: u32 = 65534;

/// A small program that fails soon, and how it is compiled.
const PROGRAMS: [(&str, Flavour); 16] = [
    ("verdicts/race.cpp", GNU_O2),
    ("verdicts/race.cpp", GNU_O0),
    ("verdicts/race.cpp", STATIC),
    ("verdicts/race.cpp", NO_PIE),
    ("verdicts/race.cpp", CROSS),
    ("verdicts/race.rs", RUST_RELEASE),
    ("verdicts/assert.c", GNU_O2),
    ("verdicts/crash_null.c", GNU_O2),
    ("verdicts/deadlock_order.c", GNU_O2),
    ("verdicts/use_after_free.cpp", GNU_O2),
    ("verdicts/panic.rs", RUST_RELEASE),
    ("patterns/refcount.cpp", GNU_O2),
    ("patterns/spinlock.cpp", GNU_O2),
    ("patterns/pool.cpp", GNU_O2),
    ("patterns/prodcons.cpp", GNU_O2),
    ("replays/lists.c", GNU_O2),
];

/// Where wmtrace is started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum World {
    /// As the user of this test: root, mostly.
    Plain,
    User,
    OtherDirectory,
    OtherEnvironment,
    OtherStack,
    OtherContent,
    Elsewhere,
    NoPersonality,
}

const WORLDS: [World; 8] = [
    World::Plain,
    World::User,
    World::OtherDirectory,
    World::OtherEnvironment,
    World::OtherStack,
    World::OtherContent,
    World::Elsewhere,
    World::NoPersonality,
];

/// A directory that everybody may use, with wmtrace in it; gone at the end. The target directory may be root's own.
struct Place {
    path: PathBuf,
    wmtrace: Arc<Copied>,
}

impl Place {
    fn new() -> Place {
        let path = std::env::temp_dir().join(format!("wmtrace-replays-{}-{}", std::process::id(), number()));
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        Place { path, wmtrace: Copied::get() }
    }

    fn directory(&self, name: &str) -> PathBuf {
        let path = self.path.join(name);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        path
    }

    /// A copy of a file that everybody may execute.
    fn copy(&self, file: &Path, name: &str) -> PathBuf {
        let path = self.path.join(name);
        std::fs::copy(file, &path).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Tests the program, in the directory `work`.
    fn record(&self, world: World, program: &Path) -> Output {
        let mut command = self.wmtrace(world);
        command.current_dir(self.directory(if world == World::OtherDirectory { "other" } else { "work" }));
        command.args(["--format", "json", "-n", "1000", "--confirm", "0", "-o", "../out", "--"]).arg(program);
        command.output().unwrap()
    }

    /// Replays its first recording. Whoever it belongs to, everybody may read it.
    fn replay(&self, world: World, options: &[&str]) -> Output {
        let recording = self.recording();
        std::fs::set_permissions(&recording, Permissions::from_mode(0o644)).unwrap();
        let mut command = self.wmtrace(world);
        let here = if world == World::OtherDirectory { PathBuf::from("/") } else { self.directory("work") };
        command.current_dir(here).args(["replay", "--format", "json"]).args(options).arg(recording);
        command.output().unwrap()
    }

    fn recording(&self) -> PathBuf {
        let mut entries: Vec<_> =
            std::fs::read_dir(self.path.join("out")).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.retain(|path| path.extension().is_some_and(|extension| extension == "wmtrec"));
        entries.sort();
        entries[0].clone()
    }

    /// The command, in a world.
    fn wmtrace(&self, world: World) -> Command {
        let own = &self.wmtrace.path;
        let through = |words: &[&str]| {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]).arg(own);
            command
        };
        let mut command = match world {
            World::NoPersonality => through(&[deny().to_str().unwrap(), "personality", "EPERM"]),
            World::OtherStack => through(&["/bin/sh", "-c", "ulimit -S -s 2048; exec \"$0\" \"$@\""]),
            World::Plain
            | World::User
            | World::OtherDirectory
            | World::OtherEnvironment
            | World::OtherContent
            | World::Elsewhere => Command::new(own),
        };
        // A test that was not started by root is a user's already.
        if world == World::User && nix::unistd::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        if world == World::OtherEnvironment {
            command.env_clear().env("PATH", "/usr/bin:/bin").env("OTHER", "x".repeat(3000));
        }
        command
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// wmtrace where everybody can execute it; gone with the last place that uses it.
struct Copied {
    path: PathBuf,
}

impl Copied {
    fn get() -> Arc<Copied> {
        static LAST: Mutex<Weak<Copied>> = Mutex::new(Weak::new());
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(copied) = last.upgrade() {
            return copied;
        }
        let path = std::env::temp_dir().join(format!("wmtrace-replays-{}-{}", std::process::id(), number()));
        let built = Path::new(env!("CARGO_BIN_EXE_wmtrace"));
        if std::fs::hard_link(built, &path).is_err() {
            std::fs::copy(built, &path).unwrap();
        }
        let copied = Arc::new(Copied { path });
        *last = Arc::downgrade(&copied);
        copied
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A new one each time.
fn number() -> u32 {
    static UNIQUE: AtomicU32 = AtomicU32::new(0);
    UNIQUE.fetch_add(1, Ordering::Relaxed)
}

/// One line that says this, and no bug.
fn names(output: &Output, says: &str) -> Result<(), String> {
    let message = String::from_utf8_lossy(&output.stderr);
    let fine = matches!(output.status.code(), Some(2 | 3)) && message.lines().count() == 1;
    if fine && message.contains(says) {
        return Ok(());
    }
    Err(format!("not one line with `{says}` and status 2 or 3: {:?}: {message}", output.status.code()))
}

/// What identifies a bug: its kind, and the threads, addresses and places of its sites. The file may have another name.
type Identity = (String, Vec<[Value; 4]>);

fn bug(output: &Output) -> Result<Identity, String> {
    let report = Report::read(output)?;
    let bug = report.bugs().first().ok_or("no bug")?;
    let place = |site: &Value| ["thread", "address", "function", "offset"].map(|key| site[key].clone());
    Ok((bug["kind"].to_string(), bug["sites"].as_array().unwrap().iter().map(place).collect()))
}

/// Records in one world, and replays in another.
fn travels(row: &Row) -> Result<(), String> {
    let Row { program, from, to, .. } = row;
    let (from, to) = (*from, *to);
    let place = Place::new();
    let copy = match from {
        World::Elsewhere => place.directory("work/deep/down/in/another/place").join("program"),
        _ => place.directory("work").join("program"),
    };
    let copy = place.copy(program, copy.strip_prefix(&place.path).unwrap().to_str().unwrap());
    let extra = place.directory("work").join("extra");
    if from == World::OtherContent {
        std::fs::write(&extra, "").unwrap();
    }
    let recorded = place.record(from, &copy);
    if from == World::NoPersonality {
        return names(&recorded, "personality");
    }
    let recorded = bug(&recorded)?;
    match to {
        World::OtherContent => std::fs::write(&extra, "").unwrap(),
        _ if from == World::OtherContent => std::fs::remove_file(&extra).unwrap(),
        _ => {}
    }
    let moved = place.directory("moved").join("to");
    let options = match to {
        World::Elsewhere => {
            std::fs::rename(&copy, &moved).unwrap();
            vec!["--program", moved.to_str().unwrap()]
        }
        _ => Vec::new(),
    };
    let replayed = place.replay(to, &options);
    // In qemu the program's memory has its place anyway.
    if to == World::NoPersonality && row.flavour != CROSS {
        return names(&replayed, "personality");
    }
    // The only program that looks at its directory; moved, it is not in it any more.
    let changed = from != World::OtherDirectory
        && ((from == World::OtherContent) != (to == World::OtherContent) || to == World::Elsewhere);
    if row.name == "replays/lists.c" && changed {
        return names(&replayed, "work has other content than it had");
    }
    match bug(&replayed)? {
        same if same == recorded => Ok(()),
        other => Err(format!("{other:?}, not {recorded:?}")),
    }
}

/// A recording.
struct Row {
    name: &'static str,
    flavour: Flavour,
    program: PathBuf,
    from: World,
    to: World,
}

impl Row {
    fn new(name: &'static str, flavour: Flavour, from: World, to: World) -> Row {
        let program = Source::named(name).build(Variant::Buggy, flavour).path;
        Row { name, flavour, program, from, to }
    }
}

/// 112 recordings: each program in each world but the one without a fixed layout, where nothing can be recorded. Each is
/// replayed in one world, so that each pair of worlds is met by one or two programs.
fn recordings() -> Vec<Row> {
    let mut table = Vec::new();
    for (index, (name, flavour)) in PROGRAMS.into_iter().enumerate() {
        for (number, from) in WORLDS.into_iter().enumerate().filter(|(_, from)| *from != World::NoPersonality)
        {
            table.push(Row::new(name, flavour, from, WORLDS[(index + number) % WORLDS.len()]));
        }
    }
    assert!(table.len() >= 100);
    for from in WORLDS.into_iter().filter(|from| *from != World::NoPersonality) {
        for to in WORLDS {
            assert!(table.iter().any(|row| (row.from, row.to) == (from, to)), "{from:?} to {to:?}");
        }
    }
    table
}

/// Every second row of the table.
fn travel(first: usize) {
    let table: Vec<_> = recordings().into_iter().skip(first).step_by(2).collect();
    let name = |row: &Row| format!("{} {:?} from {:?} to {:?}", row.name, row.flavour, row.from, row.to);
    for_each(&table, name, travels);
}

#[test]
fn recordings_travel() {
    travel(0);
}

#[test]
fn other_recordings_travel() {
    travel(1);
}

#[test]
fn nothing_is_recorded_without_a_fixed_layout() {
    travels(&Row::new("verdicts/race.cpp", GNU_O2, World::NoPersonality, World::Plain)).unwrap();
}

/// A recorded race, and its bug.
fn race(place: &Place) -> (PathBuf, Identity) {
    let program = Source::named("verdicts/race.cpp").build(Variant::Buggy, GNU_O2).path;
    place.directory("work");
    let copy = place.copy(&program, "work/program");
    let recorded = bug(&place.record(World::Plain, &copy)).unwrap();
    (copy, recorded)
}

#[test]
fn a_program_that_was_moved_is_found() {
    let place = Place::new();
    let (program, recorded) = race(&place);
    place.directory("a/far/far/away/and/very/deep/directory/for/a/program");
    for to in ["out/program", "program", "a/far/far/away/and/very/deep/directory/for/a/program/called_so"] {
        let moved = place.path.join(to);
        std::fs::rename(&program, &moved).unwrap();
        let options = ["--program", moved.to_str().unwrap()];
        assert_eq!(bug(&place.replay(World::Plain, &options)).as_ref(), Ok(&recorded), "{to}");
        let near = place.replay(World::Plain, &[]);
        if to.ends_with("program") {
            assert_eq!(bug(&near).as_ref(), Ok(&recorded), "{to} is beside the recording, or above it");
        } else {
            names(&near, "program: No such file; nor is the recorded build beside the recording").unwrap();
        }
        std::fs::rename(&moved, &program).unwrap();
    }
    let other = place.copy(Path::new("/bin/true"), "true");
    let output = place.replay(World::Plain, &["--program", other.to_str().unwrap()]);
    names(&output, "is another build of the program than the recorded one").unwrap();
    names(&place.replay(World::Plain, &["--program", "/no/such"]), "/no/such: No such file").unwrap();
}

/// A directory that is not there any more is told, and most programs do not care.
#[test]
fn a_directory_that_is_gone_is_told() {
    let place = Place::new();
    let program = Source::named("verdicts/race.cpp").build(Variant::Buggy, GNU_O2).path;
    let copy = place.copy(&program, "program");
    let recorded = bug(&place.record(World::OtherDirectory, &copy)).unwrap();
    std::fs::remove_dir(place.path.join("other")).unwrap();
    let output = place.replay(World::Plain, &[]);
    assert_eq!(bug(&output), Ok(recorded));
    let report = Report::read(&output).unwrap();
    let warnings = report.value()["warnings"].to_string();
    assert!(warnings.contains("the directory that it ran in is not there ("), "{warnings}");
}

/// The hard limit is too low: the stacks of threads lie elsewhere, and the line says why.
#[test]
fn limits_that_cannot_be_as_they_were_are_named() {
    let place = Place::new();
    race(&place);
    let recording = place.recording();
    std::fs::set_permissions(&recording, Permissions::from_mode(0o644)).unwrap();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "ulimit -s 1024; exec \"$0\" replay \"$1\""]).arg(&place.wmtrace.path).arg(recording);
    if nix::unistd::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    names(&command.output().unwrap(), "and cannot be more than 1024 KiB here").unwrap();
}

/// Packages were installed: the dynamic linker's cache is larger, and libraries lie where they did.
#[test]
fn other_packages_do_not_matter() {
    let place = Place::new();
    let (_, recorded) = race(&place);
    let cache = std::fs::read("/etc/ld.so.cache").unwrap();
    let larger = place.path.join("cache");
    std::fs::write(&larger, [cache, vec![0; 1 << 20]].concat()).unwrap();
    let script = "mount --bind \"$1\" /etc/ld.so.cache && exec \"$0\" replay --format json \"$2\"";
    let mut command = Command::new("unshare");
    command
        .args(["-r", "-m", "/bin/sh", "-c", script])
        .arg(&place.wmtrace.path)
        .arg(&larger)
        .arg(place.recording());
    let output = command.output().unwrap();
    // Not every machine lets its users mount.
    let message = String::from_utf8_lossy(&output.stderr);
    if message.starts_with("unshare: ") || message.contains("mount: ") {
        eprintln!("not tried: {message}");
        return;
    }
    assert_eq!(bug(&output), Ok(recorded));
}
