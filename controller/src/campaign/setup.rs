//! Everything that an execution depends on but the choices: the same for all executions of a campaign, and written
//! into recordings.

use super::judge::Rules;
use super::limits::Limited;
use crate::cli::{Races, TestOptions};
use crate::conditions::Conditions;
use crate::engine::{EngineOptions, FileOptions, Program};
use crate::inspect::files::{self, MAX_TEXT};
use crate::saved;
use crate::suppress::{self, Suppressions};
use crate::target::{self, Target, TargetError};
use std::io::Read as _;
use std::path::Path;
use wmtrace_decoder::orders::file::OrdersFile;
use wmtrace_model::machine::Config;
use wmtrace_model::op::ModelKind;

/// The largest standard input that is kept for the program.
const MAX_STDIN: u64 = 256 << 20;

/// Why a model is the usual one for a program.
const ORDERS_KNOWN: &str = "orders known";
pub(crate) const NO_DEBUG_INFORMATION: &str = "no debug information";

#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) target: Target,
    pub(crate) program: Program,
    pub(crate) engine: EngineOptions,
    pub(crate) rules: Rules,
    /// Why this model.
    pub(crate) because: &'static str,
    pub(crate) max_events: u64,
    /// Whether stores may overtake others in modification order (c11).
    pub(crate) mo_insertion: bool,
    pub(crate) suppressions: Suppressions,
}

impl Setup {
    /// What the options ask for.
    pub(crate) fn new(options: &TestOptions) -> Result<Setup, TargetError> {
        let input = |message: String| TargetError::Input(message);
        let cwd = std::env::current_dir()
            .map_err(|error| input(format!("the working directory is gone: {error}")))?;
        let path = target::find(&options.program, std::env::var_os("PATH").as_deref(), &cwd)?;
        let target = target::examine(&path, options.arch)?;
        if (target.arch, options.model) == ("aarch64", Some(ModelKind::Tso)) {
            let what = "--model tso is x86-64's: it makes no sense for AArch64 (use c11, sc, pso or pslo)";
            return Err(input(format!("{}: {what}", path.display())));
        }
        if target.arch == "aarch64" && options.from.is_some() {
            return Err(input(format!("{}: --from is not there yet for AArch64", path.display())));
        }
        let suppressions = Suppressions::read(&cwd, &options.suppress).map_err(input)?;
        if let Some(path) = &options.write_suppressions {
            suppress::check_writable(path).map_err(input)?;
        }
        saved::check_directory(&options.out).map_err(input)?;
        let orders = options.orders.as_deref().map(orders_file).transpose().map_err(input)?;
        let stdin = options.stdin.as_deref().map(standard_input).transpose().map_err(input)?;
        let (model, because) = match options.model {
            Some(model) => (model, "asked for"),
            None => usual_model(&target, orders.is_some()),
        };
        let engine = EngineOptions {
            model,
            unsure_is_plain: options.races == Races::On,
            assume: options.assume,
            orders,
            managed: options.managed.clone(),
            unmanaged: options.unmanaged.clone(),
            from: options.from.clone(),
            timeout: options.timeout,
            entropy: options.seed,
            emulator: options.emulator.clone(),
            files: FileOptions {
                shared: options.shared_files,
                hidden: saved::hidden(&options.out, &cwd),
                setup: options.setup.clone(),
                cleanup: options.cleanup.clone(),
            },
            verify: options.verify,
        };
        let program = Program {
            conditions: Conditions::now(&cwd, &options.out),
            told: path.clone(),
            path,
            name: options.program.clone(),
            args: options.args.clone(),
            env: options.env.of(std::env::vars_os()),
            cwd,
            stdin: stdin.unwrap_or_default(),
        };
        let rules = Rules { expect_exit: options.expect_exit, races: options.races, limits: options.limits };
        let (max_events, mo_insertion) = (options.max_events, options.mo_insertion);
        Ok(Setup { target, program, engine, rules, because, max_events, mo_insertion, suppressions })
    }

    /// Whether the model is the usual one for the program: nobody has asked for it.
    pub(super) fn is_usual_model(&self) -> bool {
        [ORDERS_KNOWN, NO_DEBUG_INFORMATION].contains(&self.because)
    }

    /// How machines are configured.
    pub(crate) fn config(&self) -> Config {
        let mut config = Config::new(self.engine.model);
        config.races = self.rules.races != Races::Off;
        config.insertion = self.mo_insertion && self.engine.model == ModelKind::C11;
        // Libraries that run natively, and the kernel, write memory too.
        config.foreign = true;
        config.max_events = self.max_events;
        config
    }

    /// What each execution is given.
    pub(crate) fn limited(&self) -> Limited {
        Limited { timeout: self.engine.timeout, max_events: self.max_events }
    }

    /// The program's name, for people and for files.
    pub(crate) fn name(&self) -> String {
        let path = &self.program.path;
        path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
    }
}

/// The model if none was asked for: c11 where the program's memory orders are known, tso elsewhere. AArch64's
/// instructions state them; of x86-64 programs, debug information or the user can.
pub(super) fn usual_model(target: &Target, stated: bool) -> (ModelKind, &'static str) {
    match target.arch {
        _ if stated => (ModelKind::C11, "orders stated by --orders"),
        "x86_64" if target::has_debug_information(&target.path) => (ModelKind::C11, ORDERS_KNOWN),
        "x86_64" => (ModelKind::Tso, NO_DEBUG_INFORMATION),
        _ => (ModelKind::C11, ORDERS_KNOWN),
    }
}

/// The text of an orders file that can be read as one.
fn orders_file(path: &Path) -> Result<String, String> {
    let at = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let bytes = files::read(path, MAX_TEXT).map_err(|error| at(&error))?;
    let text = String::from_utf8(bytes).map_err(|error| at(&error))?;
    OrdersFile::parse(&text).map_err(|error| format!("{}:{error}", path.display()))?;
    Ok(text)
}

fn standard_input(path: &Path) -> Result<Vec<u8>, String> {
    let at = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    if path.as_os_str() != "-" {
        return files::read(path, MAX_STDIN).map_err(|error| at(&error));
    }
    let mut bytes = Vec::new();
    std::io::stdin().take(MAX_STDIN + 1).read_to_end(&mut bytes).map_err(|error| at(&error))?;
    if bytes.len() as u64 > MAX_STDIN {
        return Err(at(&format!("larger than {} MiB", MAX_STDIN >> 20)));
    }
    Ok(bytes)
}
