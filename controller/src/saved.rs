//! Recordings as files: the model's [`Recording`] has the choices; its `options` text is the JSON of everything else that
//! the execution depends on, and of the bug that it is about.
//!
//! A recording contains the environment of the program, so that it runs as it did: nobody else may read it, and
//! `wmtrace scrub` makes a copy that can be sent away.

use crate::bug::{Key, Kind};
use crate::campaign::Order;
use crate::campaign::judge::Rules;
use crate::campaign::setup::Setup;
use crate::cli::{Arch, ExpectExit, Limits, Races};
use crate::conditions::Conditions;
use crate::engine::{Emulator, EngineOptions, FileOptions, ModuleInfo, Program};
use crate::inspect::files;
use crate::suppress::Suppressions;
use crate::target::{self, TargetError};
use crate::whole;
use nix::unistd::{AccessFlags, access};
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use wmtrace_decoder::orders::Assume;
use wmtrace_model::op::ModelKind;
use wmtrace_model::plan::Planned;
use wmtrace_model::recording::Recording;

/// The largest recording that is read.
const MAX_SIZE: u64 = 1 << 30;

/// Recordings of one name that are kept apart.
const MAX_COPIES: usize = 1000;

/// Where the dynamic linker looks up libraries.
pub(crate) const LINKER_CACHE: &str = "/etc/ld.so.cache";

/// Bytes that are nearly always text.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Raw {
    Text(String),
    Bytes(Vec<u8>),
}

impl Raw {
    fn of(bytes: &[u8]) -> Raw {
        match std::str::from_utf8(bytes) {
            Ok(text) => Raw::Text(text.to_string()),
            Err(_) => Raw::Bytes(bytes.to_vec()),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Raw::Text(text) => text.as_bytes().to_vec(),
            Raw::Bytes(bytes) => bytes.clone(),
        }
    }

    fn os(&self) -> OsString {
        OsString::from_vec(self.bytes())
    }
}

impl From<&OsStr> for Raw {
    fn from(text: &OsStr) -> Raw {
        Raw::of(text.as_bytes())
    }
}

/// A file whose code the program ran.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Module {
    path: String,
    build_id: String,
    managed: bool,
}

/// Which files its execution saw. Those of older versions saw the user's own: so they do in a view.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
struct Files {
    shared: bool,
    hidden: Option<Raw>,
    setup: Option<String>,
    cleanup: Option<String>,
}

impl Files {
    fn new(options: &FileOptions) -> Files {
        let FileOptions { shared, hidden, setup, cleanup } = options.clone();
        Files { shared, hidden: hidden.map(|path| path.as_os_str().into()), setup, cleanup }
    }

    fn options(&self) -> FileOptions {
        let Files { shared, hidden, setup, cleanup } = self.clone();
        FileOptions { shared, hidden: hidden.map(|path| path.os().into()), setup, cleanup }
    }
}

/// What a recording says beside the choices.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Saved {
    /// The version of wmtrace that wrote it.
    pub(crate) wmtrace: String,
    program: Raw,
    /// What it was called by; its path in recordings of older versions.
    #[serde(default)]
    name: Option<Raw>,
    args: Vec<Raw>,
    env: Vec<(Raw, Raw)>,
    cwd: Raw,
    stdin: Raw,
    unsure_is_plain: bool,
    assume: String,
    orders: Option<String>,
    managed: Vec<String>,
    unmanaged: Vec<String>,
    #[serde(default)]
    from: Option<String>,
    timeout_ms: u64,
    entropy: u64,
    #[serde(default)]
    qemu: Option<Raw>,
    #[serde(default)]
    sysroot: Option<Raw>,
    #[serde(default)]
    files: Files,
    races: String,
    expect_exit: ExpectExit,
    max_events: u64,
    #[serde(default)]
    mo_insertion: bool,
    /// Of the execution.
    pub(crate) strategy: String,
    /// Of the campaign; the recording has that of the execution.
    pub(crate) seed: u64,
    pub(crate) depth: u32,
    pub(crate) k: u32,
    pub(crate) k_com: u32,
    pub(crate) history: u32,
    /// The number of the execution in its campaign.
    pub(crate) execution: u64,
    modules: Vec<Module>,
    /// The size of the dynamic linker's cache, which is in memory while libraries are loaded: they lie elsewhere after it has
    /// changed.
    #[serde(default)]
    pub(crate) linker_cache: Option<u64>,
    #[serde(default)]
    pub(crate) conditions: Conditions,
    /// Whether time was over before the execution had its end: a replay need not stop where it did.
    #[serde(default)]
    pub(crate) cut: bool,
    /// What was taken out, to send the recording away.
    #[serde(default)]
    scrubbed: Vec<String>,
    /// What is to happen again.
    pub(crate) bug: Key,
}

const ASSUMES: [(Assume, &str); 4] =
    [(Assume::Isa, "isa"), (Assume::AcqRel, "acqrel"), (Assume::Relaxed, "relaxed"), (Assume::SeqCst, "sc")];
const RACES: [(Races, &str); 3] = [(Races::Auto, "auto"), (Races::On, "on"), (Races::Off, "off")];

fn name_of<T: PartialEq>(table: &[(T, &str)], value: &T) -> String {
    table.iter().find(|(it, _)| it == value).map_or("", |(_, name)| name).to_string()
}

fn by_name<T: Copy>(table: &[(T, &str)], name: &str) -> Result<T, String> {
    let found = table.iter().find(|(_, it)| *it == name);
    found
        .map(|(value, _)| *value)
        .ok_or_else(|| format!("the recording says `{name}`, which this wmtrace does not know"))
}

impl Saved {
    pub(crate) fn new(
        setup: &Setup,
        order: &Order,
        planned: &Planned,
        bug: &Key,
        modules: &[ModuleInfo],
    ) -> Saved {
        let Setup { program, engine, rules, max_events, mo_insertion, .. } = setup;
        let module = |it: &ModuleInfo| Module {
            path: it.path.clone(),
            build_id: it.build_id.clone(),
            managed: it.managed,
        };
        Saved {
            wmtrace: env!("CARGO_PKG_VERSION").to_string(),
            program: program.told.as_os_str().into(),
            name: Some(program.name.as_os_str().into()),
            args: program.args.iter().map(|arg| arg.as_os_str().into()).collect(),
            env: program
                .env
                .iter()
                .map(|(name, value)| (name.as_os_str().into(), value.as_os_str().into()))
                .collect(),
            cwd: program.cwd.as_os_str().into(),
            stdin: Raw::of(&program.stdin),
            unsure_is_plain: engine.unsure_is_plain,
            assume: name_of(&ASSUMES, &engine.assume),
            orders: engine.orders.clone(),
            managed: engine.managed.clone(),
            unmanaged: engine.unmanaged.clone(),
            from: engine.from.clone(),
            timeout_ms: u64::try_from(engine.timeout.as_millis()).unwrap_or(u64::MAX),
            entropy: engine.entropy,
            qemu: engine.emulator.qemu.as_ref().map(|path| path.as_os_str().into()),
            sysroot: engine.emulator.sysroot.as_ref().map(|path| path.as_os_str().into()),
            files: Files::new(&engine.files),
            races: name_of(&RACES, &rules.races),
            expect_exit: rules.expect_exit,
            max_events: *max_events,
            mo_insertion: *mo_insertion,
            strategy: planned.strategy.name().to_string(),
            seed: order.seed,
            depth: planned.parameters.depth,
            k: planned.parameters.k,
            k_com: planned.parameters.k_com,
            history: planned.parameters.history,
            execution: planned.index,
            modules: modules.iter().map(module).collect(),
            linker_cache: linker_cache(),
            conditions: program.conditions.clone(),
            cut: false,
            scrubbed: Vec::new(),
            bug: bug.clone(),
        }
    }

    /// How the execution that is recorded in the file `at` is run again. The program is looked at, and must be the same
    /// build: `given`, or where it was recorded, or somewhere near.
    pub(crate) fn setup(
        &self,
        recording: &Recording,
        at: &Path,
        given: Option<&Path>,
    ) -> Result<Setup, TargetError> {
        let target = self.find(recording, at, given)?;
        let mut setup = self.with_target(recording.model, target)?;
        if access(&setup.program.cwd, AccessFlags::X_OK).is_err() {
            setup.program.cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        }
        Ok(setup)
    }

    /// Looks for the program.
    fn find(
        &self,
        recording: &Recording,
        at: &Path,
        given: Option<&Path>,
    ) -> Result<target::Target, TargetError> {
        let here = std::env::current_dir().unwrap_or_default();
        let recorded = PathBuf::from(self.program.os());
        let first = given.map_or_else(|| recorded.clone(), |path| here.join(path).components().collect());
        let refused = match of_build(&first, &recording.identity) {
            Ok(target) => return Ok(target),
            Err(error) if given.is_some() => return Err(error),
            Err(TargetError::Input(message)) => message,
        };
        let beside = here.join(at).parent().map(Path::to_owned).unwrap_or_default();
        let above = beside.parent().map(Path::to_owned).unwrap_or_default();
        let name = recorded.file_name().unwrap_or_default();
        let near = [beside, above, here].map(|directory| directory.join(name));
        near.iter().find_map(|path| of_build(path, &recording.identity).ok()).ok_or_else(|| {
            TargetError::Input(format!(
                "{refused}; nor is the recorded build beside the recording (--program PATH says where it is)"
            ))
        })
    }

    /// What was different when it was recorded, and is not as it was in this replay; a clause each.
    pub(crate) fn differences(&self, program: &Program) -> Vec<String> {
        let mut differences = Vec::new();
        if program.path != program.told {
            differences.push(format!("the program was {}", program.told.display()));
        }
        differences.extend(self.other_directory(program));
        differences.extend(self.conditions.differences(&program.cwd));
        differences
    }

    /// That the directory in which it was recorded is not there.
    pub(crate) fn other_directory(&self, program: &Program) -> Option<String> {
        let (then, now) = (PathBuf::from(self.cwd.os()), program.cwd.display());
        (then != program.cwd).then(|| {
            format!(
                "the directory that it ran in is not there ({}), so that it runs in {now}",
                then.display()
            )
        })
    }

    /// The same for a program that was looked at.
    pub(crate) fn with_target(&self, model: ModelKind, target: target::Target) -> Result<Setup, TargetError> {
        let program = Program {
            path: target.path.clone(),
            told: PathBuf::from(self.program.os()),
            name: self.name.as_ref().unwrap_or(&self.program).os(),
            args: self.args.iter().map(Raw::os).collect(),
            env: self.env.iter().map(|(name, value)| (name.os(), value.os())).collect(),
            cwd: PathBuf::from(self.cwd.os()),
            stdin: self.stdin.bytes(),
            conditions: self.conditions.clone(),
        };
        let engine = EngineOptions {
            model,
            unsure_is_plain: self.unsure_is_plain,
            assume: by_name(&ASSUMES, &self.assume).map_err(TargetError::Input)?,
            orders: self.orders.clone(),
            managed: self.managed.clone(),
            unmanaged: self.unmanaged.clone(),
            from: self.from.clone(),
            timeout: Duration::from_millis(self.timeout_ms),
            entropy: self.entropy,
            emulator: Emulator {
                qemu: self.qemu.as_ref().map(|path| path.os().into()),
                sysroot: self.sysroot.as_ref().map(|path| path.os().into()),
            },
            files: self.files.options(),
            verify: false,
        };
        let races = by_name(&RACES, &self.races).map_err(TargetError::Input)?;
        let limits = if self.bug.kind == Kind::Timeout { Limits::Bug } else { Limits::Inconclusive };
        let rules = Rules { expect_exit: self.expect_exit, races, limits };
        let (max_events, mo_insertion) = (self.max_events, self.mo_insertion);
        Ok(Setup {
            target,
            program,
            engine,
            rules,
            because: "as recorded",
            max_events,
            mo_insertion,
            suppressions: Suppressions::default(),
        })
    }

    /// Takes out what is nobody else's business. Each variable leaves one of its length: where the program's stack begins
    /// depends on how long they are.
    pub(crate) fn scrub(&mut self) {
        for (name, value) in &mut self.env {
            let len = name.bytes().len() + value.bytes().len();
            (*name, *value) = (Raw::of(b"x"), Raw::of(&vec![b'x'; len.saturating_sub(1)]));
        }
        self.stdin = Raw::of(b"");
        self.scrubbed = ["the environment", "the standard input"].map(str::to_string).to_vec();
    }

    /// What was taken out, in words.
    pub(crate) fn scrubbed(&self) -> Option<String> {
        (!self.scrubbed.is_empty()).then(|| self.scrubbed.join(" and "))
    }

    /// Whether the dynamic linker's cache is another than the recorded one.
    pub(crate) fn has_other_linker_cache(&self) -> bool {
        self.linker_cache.is_some() && self.linker_cache != linker_cache()
    }

    /// Libraries that are other builds than the recorded ones: those under the model, and the others.
    pub(crate) fn other_builds(&self, modules: &[ModuleInfo]) -> (Vec<String>, Vec<String>) {
        let changed = modules.iter().filter_map(|now| {
            // The program's own libraries may have been moved with it.
            let name = |path: &str| Path::new(path).file_name().map(OsStr::to_owned);
            let moved = |then: &&Module| name(&then.path) == name(&now.path);
            let then = self.modules.iter().find(|then| then.path == now.path);
            let then = then.or_else(|| self.modules.iter().find(moved))?;
            (then.build_id != now.build_id).then(|| (now.managed || then.managed, now.path.clone()))
        });
        let (managed, native): (Vec<_>, Vec<_>) = changed.partition(|(managed, _)| *managed);
        let paths = |list: Vec<(bool, String)>| list.into_iter().map(|(_, path)| path).collect();
        (paths(managed), paths(native))
    }
}

/// The program in this file, if it is this build.
fn of_build(path: &Path, identity: &str) -> Result<target::Target, TargetError> {
    let target = target::examine(path, Arch::Auto)?;
    if target.build_id != identity {
        return Err(TargetError::Input(format!(
            "{} is another build of the program than the recorded one (build-id {}, not {identity}): \
             a recording is good for the very same file only",
            path.display(),
            target.build_id,
        )));
    }
    Ok(target)
}

fn linker_cache() -> Option<u64> {
    std::fs::metadata(LINKER_CACHE).ok().map(|cache| cache.len())
}

/// A name for a file: what shells, terminals and file systems might trip over is replaced.
fn tame(name: &str) -> String {
    let fine = |char: char| char.is_ascii_alphanumeric() || "._-+".contains(char);
    let name: String = name.chars().take(64).map(|char| if fine(char) { char } else { '_' }).collect();
    name.trim_start_matches(['-', '.']).to_string()
}

/// Whether recordings can be written to the directory, which need not be there yet: who learns that only when a bug was
/// found has lost it.
pub(crate) fn check_directory(directory: &Path) -> Result<(), String> {
    let cannot = |why: &dyn std::fmt::Display| {
        Err(format!("recordings cannot be written to {}: {why}", directory.display()))
    };
    let here = Path::new(".");
    let named = directory.ancestors().map(|path| if path.as_os_str().is_empty() { here } else { path });
    let there = named.into_iter().find(|path| path.symlink_metadata().is_ok()).unwrap_or(here);
    match (there.metadata(), access(there, AccessFlags::W_OK | AccessFlags::X_OK)) {
        (Err(error), _) => cannot(&error),
        (Ok(kind), _) if !kind.is_dir() => cannot(&format!("{} is not a directory", there.display())),
        (Ok(_), Err(error)) => cannot(&error.desc()),
        (Ok(_), Ok(())) => Ok(()),
    }
}

/// Where what the execution of a recording has written is kept.
pub(crate) fn files_of(recording: &Path) -> PathBuf {
    recording.with_extension("files")
}

/// What no execution may see, since recordings are written there: the directory for them, or what is made with it.
pub(crate) fn hidden(directory: &Path, cwd: &Path) -> Option<PathBuf> {
    let whole = cwd.join(directory);
    let there = whole.ancestors().find(|path| path.is_dir())?;
    let real = there.canonicalize().ok()?;
    // One that is there has been there before, and is hidden alone.
    Some(match whole.strip_prefix(there).ok()?.iter().next() {
        Some(first) => real.join(first),
        None => real,
    })
}

/// Writes a recording into the directory, under its own name at once or not at all.
pub(crate) fn write(
    directory: &Path,
    program: &str,
    number: usize,
    saved: &Saved,
    recording: &Recording,
) -> io::Result<PathBuf> {
    let mut recording = recording.clone();
    recording.options = serde_json::to_string(saved)?;
    std::fs::create_dir_all(directory)?;
    let (kind, seed, index) = (saved.bug.kind.name(), saved.seed, saved.execution);
    let name = format!("{}-{kind}-{number}-{seed}-{index}", tame(program));
    let names =
        std::iter::once(format!("{name}.wmtrec")).chain((2..).map(|copy| format!("{name}.{copy}.wmtrec")));
    let free = |name: &String| !is_of_another_bug(&directory.join(name), saved, &recording);
    let name = names.take(MAX_COPIES).find(free).unwrap_or(format!("{name}.wmtrec"));
    let path = directory.join(&name);
    whole::write(&path, &recording.to_bytes())?;
    Ok(path)
}

/// Whether there is a recording that can still be replayed and is not of this execution: of another model, say, or with
/// other arguments. Reports name it, so that it stays.
fn is_of_another_bug(path: &Path, saved: &Saved, recording: &Recording) -> bool {
    let Ok((mut old, its)) = read(path) else { return false };
    old.options.clone_from(&recording.options);
    old.identity == recording.identity
        && (old != *recording || its.args != saved.args || its.bug != saved.bug)
}

/// Reads a recording.
pub(crate) fn read(path: &Path) -> Result<(Recording, Saved), String> {
    let at = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let bytes = files::read(path, MAX_SIZE).map_err(|error| at(&error))?;
    let recording = Recording::from_bytes(&bytes).map_err(|error| at(&error))?;
    match serde_json::from_str(&recording.options) {
        Ok(saved) => Ok((recording, saved)),
        Err(error) => Err(at(&format!("{} cannot be read: {error}", written_by(&recording.options)))),
    }
}

/// Options that cannot be read, in words: whose they are, if at least that can be read.
fn written_by(options: &str) -> String {
    let value: Option<serde_json::Value> = serde_json::from_str(options).ok();
    let version = value.as_ref().and_then(|value| value["wmtrace"].as_str());
    match version {
        Some(version) if version != env!("CARGO_PKG_VERSION") => {
            let own = env!("CARGO_PKG_VERSION");
            format!("wmtrace {version} has written the recording, and this is wmtrace {own}: its options")
        }
        _ => "the recording's options".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_for_recordings() {
        let here = std::env::temp_dir().join(format!("wmtrace-saved-{}", std::process::id()));
        std::fs::create_dir_all(&here).unwrap();
        std::fs::write(here.join("file"), "").unwrap();
        std::os::unix::fs::symlink("nowhere", here.join("link")).unwrap();
        for good in ["", "new", "new/and/more"] {
            assert_eq!(check_directory(&here.join(good)), Ok(()), "{good}");
        }
        assert_eq!(check_directory(Path::new("not-there-yet")), Ok(()));
        for (bad, why) in
            [("file", "is not a directory"), ("file/new", "is not a directory"), ("link/new", "No such file")]
        {
            let message = check_directory(&here.join(bad)).unwrap_err();
            assert!(message.contains(why) && !message.contains('\n'), "{message}");
        }
        std::fs::remove_dir_all(&here).unwrap();
    }
}
