//! Compiles programs, each once: what is compiled is named after a hash of its source, compiler and options, and stays
//! in the target directory.

use crate::source::{Language, Source, Variant};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex};

/// Where `scripts/setup tests` unpacks what belongs to AArch64.
macro_rules! arm64 {
    () => {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../target/arm64")
    };
}

pub(crate) const ARM64: &str = arm64!();

/// Who compiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Toolchain {
    /// gcc, g++
    Gnu,
    /// clang, clang++
    Llvm,
    /// musl-gcc
    Musl,
    /// gcc and g++ for AArch64
    Cross,
    /// The same with musl, from `target/arm64`
    CrossMusl,
    Rustc,
    /// Debian's rustc for AArch64, with its standard library in `target/arm64`
    CrossRustc,
}

/// Who compiles and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Flavour {
    pub(crate) toolchain: Toolchain,
    pub(crate) flags: &'static str,
}

const fn flavour(toolchain: Toolchain, flags: &'static str) -> Flavour {
    Flavour { toolchain, flags }
}

pub(crate) const GNU_O0: Flavour = flavour(Toolchain::Gnu, "-O0 -g");
pub(crate) const GNU_O2: Flavour = flavour(Toolchain::Gnu, "-O2 -g");
pub(crate) const LLVM_O0: Flavour = flavour(Toolchain::Llvm, "-O0 -g");
pub(crate) const LLVM_O2: Flavour = flavour(Toolchain::Llvm, "-O2 -g");
pub(crate) const RUST_DEBUG: Flavour = flavour(Toolchain::Rustc, "-g");
pub(crate) const RUST_RELEASE: Flavour = flavour(Toolchain::Rustc, "-g -C opt-level=3");
pub(crate) const STATIC: Flavour = flavour(Toolchain::Gnu, "-O2 -g -static");
pub(crate) const STATIC_PIE: Flavour = flavour(Toolchain::Gnu, "-O2 -g -static-pie");
pub(crate) const NO_PIE: Flavour = flavour(Toolchain::Gnu, "-O2 -g -no-pie");
pub(crate) const STRIPPED: Flavour = flavour(Toolchain::Gnu, "-O2 -s");
pub(crate) const STATIC_STRIPPED: Flavour = flavour(Toolchain::Gnu, "-O2 -static -s");
pub(crate) const CROSS: Flavour = flavour(Toolchain::Cross, "-O2 -g");
pub(crate) const CROSS_STATIC: Flavour = flavour(Toolchain::Cross, "-O2 -g -static");
pub(crate) const CROSS_NO_PIE: Flavour = flavour(Toolchain::Cross, "-O2 -g -no-pie");
pub(crate) const CROSS_O0: Flavour = flavour(Toolchain::Cross, "-O0 -g");
pub(crate) const CROSS_STRIPPED: Flavour = flavour(Toolchain::Cross, "-O2 -s");
/// Exclusive loops instead of calls, and LSE instructions instead of either.
pub(crate) const CROSS_LLSC: Flavour =
    flavour(Toolchain::Cross, "-O2 -g -march=armv8-a -mno-outline-atomics");
pub(crate) const CROSS_LSE: Flavour = flavour(Toolchain::Cross, "-O2 -g -march=armv8.1-a");
pub(crate) const CROSS_RCPC: Flavour = flavour(Toolchain::Cross, "-O2 -g -march=armv8.3-a");
pub(crate) const CROSS_LLVM: Flavour = flavour(Toolchain::Llvm, "-O2 -g --target=aarch64-linux-gnu");
pub(crate) const CROSS_LLVM_O0: Flavour = flavour(Toolchain::Llvm, "-O0 -g --target=aarch64-linux-gnu");
pub(crate) const CROSS_LLVM_LLSC: Flavour =
    flavour(Toolchain::Llvm, "-O2 -g --target=aarch64-linux-gnu -mno-outline-atomics");
pub(crate) const CROSS_MUSL: Flavour = flavour(Toolchain::CrossMusl, "-O2 -g");
pub(crate) const CROSS_MUSL_STATIC: Flavour = flavour(Toolchain::CrossMusl, "-O2 -g -static");
pub(crate) const CROSS_RUST: Flavour = flavour(Toolchain::CrossRustc, "-g -C opt-level=3");
pub(crate) const CROSS_RUST_DEBUG: Flavour = flavour(Toolchain::CrossRustc, "-g");
pub(crate) const MUSL: Flavour = flavour(Toolchain::Musl, "-O2 -g");
pub(crate) const MUSL_STATIC: Flavour = flavour(Toolchain::Musl, "-O2 -g -static");

/// A program that can run.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    pub(crate) path: PathBuf,
    pub(crate) args: Vec<String>,
}

impl Source {
    /// The flavour that tables use if they do not say.
    pub(crate) fn usual(&self) -> Flavour {
        if self.language == Language::Rust { RUST_RELEASE } else { GNU_O2 }
    }

    /// Compiles a variant.
    pub(crate) fn build(&self, variant: Variant, flavour: Flavour) -> Built {
        let switch = match (variant, self.language) {
            (Variant::Right, _) => "",
            (Variant::Buggy, Language::Rust) => "--cfg buggy",
            (Variant::Buggy, Language::C | Language::Cpp) => "-DBUGGY",
        };
        let args = match self.plugin {
            true => {
                vec![self.compile(flavour, &format!("{switch} -DPLUGIN -shared -fPIC")).display().to_string()]
            }
            false => Vec::new(),
        };
        Built { path: self.compile(flavour, switch), args }
    }

    /// Compiles with options of the test's own.
    pub(crate) fn compile(&self, flavour: Flavour, switches: &str) -> PathBuf {
        let (compiler, standard) = match (flavour.toolchain, self.language) {
            (Toolchain::Rustc, Language::Rust) => ("rustc", "--edition 2021 --check-cfg cfg(buggy)"),
            (Toolchain::Gnu, Language::C) => ("gcc", "-std=gnu17 -pthread -Wall -Wextra -Werror"),
            (Toolchain::Gnu, Language::Cpp) => ("g++", "-std=c++17 -pthread -Wall -Wextra -Werror"),
            (Toolchain::Llvm, Language::C) => ("clang", "-std=gnu17 -pthread -Wall -Wextra -Werror"),
            (Toolchain::Llvm, Language::Cpp) => ("clang++", "-std=c++17 -pthread -Wall -Wextra -Werror"),
            (Toolchain::Musl, Language::C) => ("musl-gcc", "-std=gnu17 -pthread"),
            (Toolchain::CrossRustc, Language::Rust) => (
                "/usr/bin/rustc",
                "--edition 2021 --check-cfg cfg(buggy) --target aarch64-unknown-linux-gnu -C linker=aarch64-linux-gnu-gcc",
            ),
            (Toolchain::Cross | Toolchain::CrossMusl, Language::C) => {
                ("aarch64-linux-gnu-gcc", "-std=gnu17 -pthread")
            }
            (Toolchain::Cross, Language::Cpp) => ("aarch64-linux-gnu-g++", "-std=c++17 -pthread"),
            (toolchain, language) => panic!("{toolchain:?} compiles no {language:?}: {}", self.name),
        };
        let mut flags: Vec<&str> =
            [standard, flavour.flags, switches].iter().flat_map(|s| s.split(' ')).collect();
        flags.extend(self.flags.iter().map(String::as_str));
        match flavour.toolchain {
            Toolchain::CrossRustc => flags.extend(["--sysroot", concat!(arm64!(), "/usr")]),
            Toolchain::CrossMusl => flags.extend(["-specs", concat!(arm64!(), "/musl-gcc.specs")]),
            Toolchain::Gnu | Toolchain::Llvm | Toolchain::Musl | Toolchain::Cross | Toolchain::Rustc => {}
        }
        flags.retain(|flag| !flag.is_empty());
        compile(compiler, &flags, &self.path, &self.text)
    }
}

/// Compiles this file; its text is part of the result's name.
pub(crate) fn compile(compiler: &'static str, flags: &[&str], path: &Path, text: &str) -> PathBuf {
    static UNIQUE: AtomicU32 = AtomicU32::new(0);
    let mut hasher = DefaultHasher::new();
    (version(compiler), flags, path, text).hash(&mut hasher);
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("programs");
    std::fs::create_dir_all(&directory).unwrap();
    let stem = path.file_stem().unwrap().to_str().unwrap();
    let result = directory.join(format!("{stem}-{:016x}", hasher.finish()));
    if result.exists() {
        return result;
    }
    // Others may be compiling the same: whoever is ready first gives it the name, whole, and nobody replaces what
    // somebody may be running.
    let unique = format!("{}-{}", std::process::id(), UNIQUE.fetch_add(1, Ordering::Relaxed));
    // rustc names files of its own after the result: each has a directory.
    let own = directory.join(unique);
    std::fs::create_dir_all(&own).unwrap();
    let partial = own.join(stem);
    // Libraries come after what needs them.
    let (libraries, flags): (Vec<&str>, Vec<&str>) = flags.iter().partition(|flag| flag.starts_with("-l"));
    let mut command = Command::new(compiler);
    let output = command.args(&flags).arg("-o").arg(&partial).arg(path).args(libraries).output();
    let output = output.unwrap_or_else(|error| panic!("{compiler}: {error}; see scripts/setup tests"));
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler} {} {}:\n{messages}", flags.join(" "), path.display());
    let named = std::fs::hard_link(&partial, &result);
    std::fs::remove_dir_all(&own).unwrap();
    assert!(named.is_ok() || result.exists(), "{}: {named:?}", result.display());
    result
}

/// A compiler's version, asked once.
fn version(compiler: &'static str) -> String {
    static KNOWN: LazyLock<Mutex<HashMap<&str, String>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let ask = || {
        let output = Command::new(compiler).arg("--version").output();
        let output = output.unwrap_or_else(|error| panic!("{compiler}: {error}; see scripts/setup tests"));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    known.entry(compiler).or_insert_with(ask).clone()
}
