//! Executions do not see each other's files: each has a view of its own ([`crate::os::view`]), in which it finds the user's
//! files as they are, and changes only its own.
//!
//! A view in which nothing was changed serves the next execution. Who writes no files pays nothing. One that was
//! changed is renewed if a prepared process can go on in it; otherwise the next execution gets a new one, and with it a program
//! that is started anew.

use super::kept::{self, Written};
use super::{EngineError, FileOptions, Outcome, Program, places, refusals};
use crate::os::view::{self, Mount, View};
use crate::os::{interrupt, launch};
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Bytes that are as good as none.
const FULL: u64 = 1 << 20;

/// The most of a command's output that is shown.
const MOST_SAID: usize = 2000;

/// The files of one engine's executions, one after the other.
pub(super) struct Private {
    program: Program,
    options: FileOptions,
    /// Of a command of the user's.
    timeout: Duration,
    mounts: Vec<Mount>,
    view: Option<Own>,
    /// Why executions share files although nobody wants them to.
    warning: Option<String>,
    /// Process groups of the user's commands.
    groups: Vec<u32>,
}

/// What an execution begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Begun {
    /// What was there before.
    Unchanged,
    /// New files by the same names, for processes that are in the view.
    Renewed,
    /// A new view: no process is in it.
    Anew,
}

/// A view, and how it was.
struct Own {
    view: View,
    places: Vec<PathBuf>,
    before: State,
    /// Something without a file's name was made: a queue, shared memory of System V.
    named: bool,
    /// What was written was put aside.
    aside: bool,
}

/// What changes if anything is written. When a directory was changed last says less than it seems: overlayfs notes things
/// of its own there.
#[derive(PartialEq, Eq)]
struct State {
    room: (u64, u64),
    /// Modes, owners, groups, and when files were made or deleted last.
    layers: Vec<([u32; 3], [i64; 2])>,
}

impl State {
    fn of(layers: &File, count: usize) -> std::io::Result<State> {
        let path = view::path_of(layers);
        let layer = |number| {
            let data = path.join(view::layer(number)).metadata()?;
            Ok(([data.mode(), data.uid(), data.gid()], [data.mtime(), data.mtime_nsec()]))
        };
        Ok(State {
            room: view::room(layers)?,
            layers: (0..count).map(layer).collect::<std::io::Result<_>>()?,
        })
    }
}

impl Private {
    /// `for_users`: whether programs of users other than root can have files of their own.
    pub(super) fn new(
        program: &Program,
        options: &FileOptions,
        timeout: Duration,
        for_users: bool,
    ) -> Result<Private, EngineError> {
        let mounts = match options.shared {
            true => Vec::new(),
            false => {
                let mounted = places::mounted();
                places::mounts(&places::of(program, &mounted), &mounted)
            }
        };
        let mut options = options.clone();
        // A program that lies among the recordings must be found.
        options.hidden = options.hidden.filter(|hidden| !program.path.starts_with(hidden));
        let mut private = Private {
            program: program.clone(),
            options,
            timeout,
            mounts,
            view: None,
            warning: None,
            groups: Vec::new(),
        };
        if private.mounts.is_empty() {
            return Ok(private);
        }
        if !for_users && !nix::unistd::geteuid().is_root() {
            private.warning = Some(shares("programs for AArch64 need root for that", "files"));
            return Ok(private);
        }
        match private.make() {
            Ok(own) => private.view = Some(own),
            Err(error) if is_want(&error) => return Err(cannot(&error)),
            Err(error) => private.warning = Some(shares(&error.to_string(), "files")),
        }
        Ok(private)
    }

    /// The files that a new process sees; `None`: those that we see.
    pub(super) fn view(&self) -> Option<&View> {
        self.view.as_ref().map(|own| &own.view)
    }

    /// An execution is about to begin. `prepared`: it is to be a copy of a process that finds files by their names only.
    pub(super) fn begin(&mut self, prepared: bool) -> Result<Begun, EngineError> {
        let changed = self.is_changed();
        let renewed = changed && prepared && self.renew();
        if changed && !renewed {
            self.view = Some(self.make().map_err(|error| cannot(&error))?);
        }
        if let Some(command) = self.options.setup.clone() {
            self.run("--setup", &command)?;
        }
        Ok(match changed {
            _ if self.options.setup.is_some() || self.options.cleanup.is_some() => Begun::Anew,
            true if renewed => Begun::Renewed,
            true => Begun::Anew,
            false => Begun::Unchanged,
        })
    }

    /// The execution is over, and every process of it is gone.
    pub(super) fn ended(&mut self, outcome: Result<Outcome, EngineError>) -> Result<Outcome, EngineError> {
        let mut outcome = outcome?;
        if self.is_full() {
            return Err(refusals::no_room());
        }
        if let Some(command) = self.options.cleanup.clone() {
            // The command may take away what the execution has written.
            if let Some(own) = &mut self.view {
                let aside = kept::put_aside(&own.view.layers, own.places.len());
                aside.map_err(|error| EngineError::Os(format!("files of an execution: {error}")))?;
                own.aside = true;
            }
            self.run("--cleanup", &command)?;
        }
        for group in self.groups.drain(..) {
            view::end_group(group);
        }
        outcome.warnings.extend(self.warning.clone());
        Ok(outcome)
    }

    /// Whether anything was changed since the view was made.
    pub(super) fn is_changed(&self) -> bool {
        self.view.as_ref().is_some_and(|own| {
            own.named || !State::of(&own.view.layers, own.places.len()).is_ok_and(|now| now == own.before)
        })
    }

    /// What the last execution has written, if it has.
    pub(super) fn written(&self) -> Option<Written> {
        let own = self.view.as_ref().filter(|_| self.is_changed())?;
        Written::new(&own.view.layers, &own.places, own.aside).ok()
    }

    /// The program, or a process that it has made, asks for this system call.
    pub(super) fn calls(&mut self, number: i64) {
        let named =
            matches!(number, libc::SYS_shmget | libc::SYS_semget | libc::SYS_msgget | libc::SYS_mq_open);
        if let (true, Some(own)) = (named, &mut self.view) {
            own.named = true;
        }
    }

    /// The program has made a process whose system calls nobody sees.
    pub(super) fn forks(&mut self) {
        if let Some(own) = &mut self.view {
            own.named = true;
        }
    }

    /// Whether there is no more room for what is written.
    pub(super) fn is_full(&self) -> bool {
        let room = self.view().and_then(|view| view::room(&view.layers).ok());
        room.is_some_and(|(bytes, files)| bytes < FULL || files == 0)
    }

    /// The private directory that a file is in.
    pub(super) fn place(&self, file: &Path) -> Option<&Path> {
        let own = self.view.as_ref()?;
        let number = own.places.iter().rposition(|place| file.starts_with(place))?;
        (!own.view.refused.contains(&number)).then_some(own.places[number].as_path())
    }

    /// Takes away what was written, but not the view. Whether that was possible.
    fn renew(&mut self) -> bool {
        let Some(own) = &mut self.view else { return false };
        let hidden = self.options.hidden.as_deref();
        if own.named || !own.view.is_renewable(&self.mounts) {
            return false;
        }
        let renewed = own.view.renew(&self.mounts, |layers| kept::prepare(layers, &own.places, hidden));
        match renewed.and_then(|()| State::of(&own.view.layers, own.places.len())) {
            Ok(before) => own.before = before,
            Err(_) => return false,
        }
        true
    }

    fn make(&mut self) -> std::io::Result<Own> {
        let private = self.mounts.iter().filter_map(|mount| match mount {
            Mount::Private(path) => Some(path.clone()),
            Mount::Again(_) => None,
        });
        let places: Vec<PathBuf> = private.collect();
        let hidden = self.options.hidden.as_deref();
        let view = View::new(&self.mounts, |layers| kept::prepare(layers, &places, hidden))?;
        if let Some(first) = view.refused.first() {
            self.warning = Some(shares("overlayfs refuses it", &places[*first].display().to_string()));
        }
        let before = State::of(&view.layers, places.len())?;
        Ok(Own { view, places, before, named: false, aside: false })
    }

    /// Runs a command of the user's in the view.
    fn run(&mut self, option: &str, command: &str) -> Result<(), EngineError> {
        let failed = |what: &dyn std::fmt::Display| EngineError::Os(format!("{option} `{command}` {what}"));
        let cannot = |error: std::io::Error| failed(&format!("cannot be run: {error}"));
        let mut said = launch::stream_file("command").map_err(cannot)?;
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(command).env_clear().envs(self.program.env.iter().cloned());
        shell.stdin(Stdio::null()).stdout(said.try_clone().map_err(cannot)?);
        shell.stderr(said.try_clone().map_err(cannot)?);
        let mut child = view::start(&mut shell, self.view(), &self.program.cwd).map_err(cannot)?;
        self.groups.push(child.id());
        let deadline = Instant::now() + self.timeout;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(cannot)? {
                break status;
            }
            if interrupt::requested() || deadline <= Instant::now() {
                view::end_group(child.id());
                let _ = child.wait();
                return Err(match interrupt::requested() {
                    true => EngineError::Interrupted,
                    false => failed(&format!("takes longer than {} s", self.timeout.as_secs_f64())),
                });
            }
            std::thread::sleep(Duration::from_micros(200));
        };
        if status.success() {
            return Ok(());
        }
        let mut bytes = Vec::new();
        let _ = said.rewind().and_then(|()| said.take(MOST_SAID as u64).read_to_end(&mut bytes));
        let text = String::from_utf8_lossy(&bytes);
        Err(failed(&match text.trim() {
            "" => format!("failed ({status})"),
            text => format!("failed ({status}), and said: {text}"),
        }))
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        for group in self.groups.drain(..) {
            view::end_group(group);
        }
    }
}

/// Whether this machine has too little of something, for the moment: others may share files, but not for that.
fn is_want(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE))
}

fn cannot(error: &std::io::Error) -> EngineError {
    EngineError::Os(format!(
        "cannot give an execution files of its own: {error}; --shared-files does without"
    ))
}

fn shares(why: &str, what: &str) -> String {
    format!(
        "executions share {what}, since wmtrace cannot give them their own here ({why}): they may disturb each other and \
         change your files; --shared-files accepts that"
    )
}
