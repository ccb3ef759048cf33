//! Debug information in other files (by build-id, by debuglink, in a package), compressed or missing; and names and
//! lines in a real program: this test itself.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use wmtrace_decoder::debug::{Debug, DebugFile, Files, NoFiles};
use wmtrace_decoder::image::Image;
use wmtrace_decoder::orders::{Atomic, Options, Orders, Source};
use wmtrace_model::order::Order;

#[path = "orders_suite/effects.rs"]
mod effects;

const TEXT: &str = "#include <atomic>\nextern \"C\" int get(std::atomic<int>* p) { return p->load(std::memory_order_acquire); }\nint main() {}\n";

/// One file for one question.
struct One {
    wanted: &'static str,
    path: PathBuf,
}

impl Files for One {
    fn open(&self, file: DebugFile<'_>) -> Option<Arc<[u8]>> {
        let kind = match file {
            DebugFile::BuildId(_) => "build-id",
            DebugFile::DebugLink { .. } => "debuglink",
            DebugFile::Dwo { .. } => "dwo",
            DebugFile::Dwp => "dwp",
            DebugFile::Source(_) => "source",
        };
        (kind == self.wanted).then(|| Arc::from(std::fs::read(&self.path).expect("a debug file")))
    }
}

fn run(directory: &Path, command: &[&str]) -> bool {
    match Command::new(command[0]).args(&command[1..]).current_dir(directory).status() {
        Ok(status) => {
            assert!(status.success(), "{command:?}");
            true
        }
        Err(_) => {
            println!("skipped: there is no {} here", command[0]);
            false
        }
    }
}

fn directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&directory).expect("the test's directory");
    std::fs::write(directory.join("a.cpp"), TEXT).expect("source");
    directory
}

/// What is said about the load in `get`.
fn load(program: &Path, files: Arc<dyn Files>) -> (Option<Order>, Source, Atomic) {
    let image = Image::parse(Arc::from(std::fs::read(program).expect("a program"))).expect("an image");
    let debug = Debug::new(&image, files);
    // The symbol is gone in a stripped program, the unwind information is not: look at every function.
    let orders = Orders::new(&image, &debug, Options::default());
    let mut last = (None, Source::Policy, Atomic::Unsure);
    for function in image.functions() {
        // `mov eax, [rdi]; ret`
        if image.code_at(function.start).is_some_and(|code| code.starts_with(&[0x8b, 0x07, 0xc3])) {
            let effect = effects::effect(function.start, &[0x8b, 0x07]).expect("an effect");
            let info = orders.at(function.start, &effect).accesses.remove(0);
            last = (info.order, info.from, info.atomic);
        }
    }
    last
}

const STATED: (Option<Order>, Source, Atomic) = (Some(Order::Acquire), Source::Dwarf, Atomic::Yes);

#[test]
fn separate_debug_files() {
    let directory = directory("separate");
    for command in [
        &["g++", "-O2", "-g", "-Wl,--build-id", "a.cpp", "-o", "a"][..],
        &["objcopy", "--only-keep-debug", "a", "a.debug"],
        &["objcopy", "--strip-all", "--add-gnu-debuglink=a.debug", "a", "stripped"],
        &["g++", "-O2", "-g", "-gz=zlib", "a.cpp", "-o", "compressed"],
    ] {
        if !run(&directory, command) {
            return;
        }
    }
    let debug = || directory.join("a.debug");
    let stripped = directory.join("stripped");
    assert_eq!(load(&stripped, Arc::new(One { wanted: "build-id", path: debug() })), STATED);
    assert_eq!(load(&stripped, Arc::new(One { wanted: "debuglink", path: debug() })), STATED);
    assert_eq!(load(&directory.join("compressed"), Arc::new(NoFiles)), STATED);
    // Without it the access may be anything, and the file of another program is not believed.
    let unknown = (Some(Order::Acquire), Source::Policy, Atomic::Unsure);
    assert_eq!(load(&stripped, Arc::new(NoFiles)), unknown);
    assert_eq!(
        load(&stripped, Arc::new(One { wanted: "build-id", path: directory.join("compressed") })),
        unknown
    );
}

#[test]
fn packages_of_split_units() {
    let directory = directory("package");
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let built = run(&directory, &["g++", "-O2", "-g", version, "-gsplit-dwarf", "a.cpp", "-o", "a"]);
        // binutils' dwp does not know version 5; llvm's knows both.
        if !built || !run(&directory, &["llvm-dwp", "-e", "a", "-o", "a.dwp"]) {
            return;
        }
        let package = Arc::new(One { wanted: "dwp", path: directory.join("a.dwp") });
        assert_eq!(load(&directory.join("a"), package), STATED, "{version}");
        let missing = load(&directory.join("a"), Arc::new(NoFiles));
        assert_eq!((missing.1, missing.2), (Source::Policy, Atomic::Unsure), "{version}");
    }
}

/// A function whose name and line are known.
#[inline(never)]
fn landmark(value: u64) -> u64 {
    std::hint::black_box(value) + 1
}

#[test]
fn names_and_lines_of_this_test() {
    assert_eq!(landmark(1), 2);
    let program = std::env::current_exe().expect("this program");
    let image = Image::parse(Arc::from(std::fs::read(program).expect("this program"))).expect("an image");
    let debug = Debug::new(&image, Arc::new(NoFiles));
    let own = image.symbols().iter().find(|symbol| symbol.function && symbol.name.contains("landmark"));
    let frames = debug.frames(own.expect("a function of this file").addr);
    let outermost = frames.last().expect("a frame");
    assert!(outermost.function == "orders_files::landmark", "{frames:?}");
    let line = frames.iter().filter_map(|frame| frame.line.as_ref()).next_back().expect("a line");
    assert!(line.file.ends_with("tests/orders_files.rs") && line.line > 100, "{frames:?}");
    let (all, read) = debug.units();
    assert!(read * 10 < all, "only the units that were asked about: {read} of {all}");
}
