//! Orders recovered from compiled code, against what the source asks for.
//!
//! Each atomic operation × order × width becomes one function; compilers make machine code of all of them at
//! every level; a little machine runs each function, so that its atomic access is known by its address and not by
//! what is being tested. What [`Orders`] says about that instruction is compared with the source.
//!
//! Goals (issue 3): from -O1 on at least 99 % of loads, stores, fences and compare-and-swaps right, and none
//! wrong towards weaker, anywhere; at -O0 constant or evaluated at run time. What is not recovered is unknown.
//!
//! `cargo test -p wmtrace-decoder --test orders_suite -- --nocapture` prints the table.

mod aarch64;
mod beside;
mod cases;
mod effects;
mod emulate;

use cases::Case;
use emulate::{Machine, OBJECT};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::Mutex;
use wmtrace_decoder::debug::{Debug, DebugFile, Files};
use wmtrace_decoder::effect::{Access, AccessKind};
use wmtrace_decoder::image::Image;
use wmtrace_decoder::orders::{Atomic, EmptyFence, OpKind, Options, OrderInfo, Orders, Source};
use wmtrace_model::order::Order;

/// Files of the host; source text only if the configuration may use it.
struct Host {
    source: bool,
}

impl Files for Host {
    fn open(&self, file: DebugFile<'_>) -> Option<Arc<[u8]>> {
        let path = match file {
            DebugFile::Dwo { directory, name } => Path::new(directory).join(name),
            DebugFile::Source(path) if self.source => PathBuf::from(path),
            DebugFile::Source(_) | DebugFile::BuildId(_) | DebugFile::DebugLink { .. } | DebugFile::Dwp => {
                return None;
            }
        };
        std::fs::read(path).ok().map(Arc::from)
    }
}

/// One way to compile.
struct Config {
    name: &'static str,
    compiler: &'static str,
    flags: &'static [&'static str],
    /// Whether the goals for optimised code hold.
    optimised: bool,
    /// Whether orders may come from source text where debug information has lost them.
    source: bool,
}

const fn config(
    name: &'static str,
    compiler: &'static str,
    flags: &'static [&'static str],
    optimised: bool,
    source: bool,
) -> Config {
    Config { name, compiler, flags, optimised, source }
}

const LIBCXX: &str = "-stdlib=libc++";

const CONFIGS: [Config; 21] = [
    config("g++ -O0", "g++", &["-O0", "-g"], false, false),
    config("clang++ -O0", "clang++", &["-O0", "-g"], false, false),
    config("g++ -O1", "g++", &["-O1", "-g"], true, false),
    config("clang++ -O1", "clang++", &["-O1", "-g"], true, false),
    config("g++ -O2", "g++", &["-O2", "-g"], true, false),
    config("clang++ -O2", "clang++", &["-O2", "-g"], true, false),
    config("g++ -O3", "g++", &["-O3", "-g"], true, false),
    config("clang++ -O3", "clang++", &["-O3", "-g"], true, false),
    config("g++ -O2 dwarf-4", "g++", &["-O2", "-g", "-gdwarf-4"], true, false),
    config("clang++ -O2 dwarf-4", "clang++", &["-O2", "-g", "-gdwarf-4"], true, false),
    config("g++ -O2 split", "g++", &["-O2", "-g", "-gsplit-dwarf"], true, false),
    config("clang++ -O2 split", "clang++", &["-O2", "-g", "-gsplit-dwarf"], true, false),
    config("rustc debug", "rustc", &["-g"], false, false),
    config("rustc release", "rustc", &["-g", "-O"], true, false),
    config("rustc debug, source", "rustc", &["-g"], false, true),
    config("rustc release, source", "rustc", &["-g", "-O"], true, true),
    config("clang++ -O0 libc++", "clang++", &["-O0", "-g", LIBCXX], false, false),
    config("clang++ -O2 libc++", "clang++", &["-O2", "-g", LIBCXX], true, false),
    // Line tables have no arguments: source text is all there is.
    config("g++ -O2 -g1, source", "g++", &["-O2", "-g1"], true, true),
    config("clang++ -O2 -g1, source", "clang++", &["-O2", "-g1"], true, true),
    config("rustc lines, source", "rustc", &["-Cdebuginfo=line-tables-only", "-O"], true, true),
];

/// Compiles; `None`: there is no such compiler here.
fn build(config: &Config, cases: &[Case]) -> Option<PathBuf> {
    let name: String = config.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("orders").join(name);
    std::fs::create_dir_all(&directory).expect("the test's directory");
    let rust = config.compiler == "rustc";
    let source = directory.join(if rust { "cases.rs" } else { "cases.cpp" });
    std::fs::write(&source, if rust { cases::rust_source(cases) } else { cases::cpp_source(cases) })
        .expect("source");
    let output = directory.join("cases.bin");
    let mut command = Command::new(config.compiler);
    command.current_dir(&directory).args(config.flags).arg(&source).arg("-o").arg(&output);
    if rust {
        command.args(["--edition=2024", "--crate-type=cdylib", "-Awarnings"]);
    } else {
        command.args(["-std=c++20", "-w"]);
    }
    let result = match command.output() {
        Ok(result) => result,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => panic!("{}: {error}", config.name),
    };
    let said = String::from_utf8_lossy(&result.stderr);
    if config.flags.contains(&LIBCXX) && said.contains("'atomic' file not found") {
        return None;
    }
    assert!(result.status.success(), "{}: {}", config.name, said);
    Some(output)
}

/// How well an order was recovered.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Outcome {
    Right(Source),
    Stronger(String),
    /// Stronger, because the text that would show a fence cannot be read.
    Strengthened,
    Weaker(String),
    Unknown(Source),
    Missing(String),
}

/// What was seen of an atomic access or fence.
struct Seen {
    atomic: bool,
    info: OrderInfo,
    order: Option<Order>,
    failure: Option<Order>,
}

impl Seen {
    fn new(machine: &Machine<'_>, atomic: bool, info: OrderInfo) -> Seen {
        let (mut order, mut failure) = (info.order, info.failure);
        if let Some(runtime) = &info.runtime {
            match runtime.evaluate(machine) {
                Ok((found, on_failure)) => (order, failure) = (Some(found), on_failure),
                Err(_) => order = None,
            }
        }
        Seen { atomic, info, order, failure }
    }

    fn judge(&self, case: &Case) -> Outcome {
        if matches!(self.info.from, Source::Policy | Source::Isa) {
            return Outcome::Unknown(self.info.from);
        }
        let Some(order) = self.order else { return Outcome::Unknown(self.info.from) };
        let mut outcome = compare(case.order, order);
        if let (Outcome::Right(_), Some(wanted)) = (&outcome, case.failure) {
            match self.failure {
                Some(found) => outcome = compare(wanted, found),
                None => return Outcome::Unknown(self.info.from),
            }
        }
        match outcome {
            Outcome::Right(_) => Outcome::Right(self.info.from),
            Outcome::Stronger(_) if self.info.strengthened.is_some() => Outcome::Strengthened,
            other => other,
        }
    }
}

fn compare(wanted: Order, found: Order) -> Outcome {
    let text = || format!("{found} for {wanted}");
    match found.partial_cmp(&wanted) {
        Some(std::cmp::Ordering::Equal) => Outcome::Right(Source::Dwarf),
        Some(std::cmp::Ordering::Greater) => Outcome::Stronger(text()),
        Some(std::cmp::Ordering::Less) | None => Outcome::Weaker(text()),
    }
}

fn resolve(machine: &Machine<'_>, pc: u64, access: &Access) -> u64 {
    let value = |number: u8| if number == 56 { pc } else { machine.regs[usize::from(number)] };
    let base = access.address.base.map_or(0, |reg| value(reg.0));
    let index =
        access.address.index.map_or(0, |index| value(index.reg.0).wrapping_mul(u64::from(index.scale)));
    base.wrapping_add(index).wrapping_add_signed(access.address.displacement)
}

/// Runs a case and judges what is said about it.
fn judge(
    case: &Case,
    start: u64,
    image: &Image,
    orders: &Orders<'_>,
    fences: &BTreeMap<u64, EmptyFence>,
) -> Outcome {
    let mut seen: Vec<Seen> = Vec::new();
    let mut plain = None;
    let mut told: Vec<u64> = Vec::new();
    // Instructions that are called atomic without asking a thread: one for each operation that happens.
    let mut claimed = BTreeSet::new();
    let mut uncertain = false;
    let result = Machine::new(image).run(start, &mut |machine, pc, _| {
        let order = orders.uncertain_fence(pc, &effects::effect).map(|fence| fence.order);
        uncertain |= order.is_some_and(|order| order >= case.order);
        if let Some(fence) = fences.get(&pc) {
            told = fence.instructions.clone();
            seen.push(Seen::new(machine, true, fence.info.clone()));
        }
        let Some(effect) = image.code_at(pc).and_then(|bytes| effects::effect(pc, bytes)) else { return };
        if effect.accesses.is_empty() && effect.fence.is_none() {
            return;
        }
        let info = orders.at(pc, &effect);
        if case.kind == OpKind::Fence {
            if let Some(fence) = info.fence.filter(|_| !told.contains(&pc)) {
                seen.push(Seen::new(machine, true, fence));
            }
            return;
        }
        let at_rest = orders.without_thread(pc, &effect, &effects::effect).accesses;
        for ((access, mut info), at_rest) in effect.accesses.iter().zip(info.accesses).zip(at_rest) {
            let addr = resolve(machine, pc, access);
            if at_rest.atomic == Atomic::Yes {
                claimed.insert((pc, (OBJECT..OBJECT + 16).contains(&addr)));
            }
            if info.runtime.as_ref().is_some_and(|runtime| !runtime.is_own(machine, addr)) {
                info.atomic = Atomic::No;
            }
            if (OBJECT..OBJECT + 16).contains(&addr) {
                if info.atomic == Atomic::No {
                    plain = Some(pc);
                }
                let own = access.atomic
                    || matches!(
                        (case.kind, access.kind),
                        (OpKind::Load, AccessKind::Load) | (OpKind::Store, AccessKind::Store)
                    );
                if own {
                    seen.push(Seen::new(machine, access.atomic, info));
                }
            } else if info.atomic == Atomic::Yes {
                plain = Some(pc);
            }
        }
    });
    if let Some(pc) = plain {
        return Outcome::Weaker(format!("{pc:#x}: plain and atomic confused"));
    }
    if case.kind == OpKind::Fence && seen.is_empty() && uncertain {
        return Outcome::Strengthened;
    }
    if seen.is_empty() {
        return Outcome::Missing(result.err().unwrap_or_else(|| "no such access".into()));
    }
    if case.kind != OpKind::Fence && (claimed.len() != 1 || claimed.iter().any(|&(_, object)| !object)) {
        let list: Vec<_> = claimed.iter().map(|(pc, object)| format!("{pc:#x} {object}")).collect();
        return Outcome::Weaker(format!("called atomic, and whether it is the object: {list:?}"));
    }
    debug_assert!(seen.iter().all(|seen| seen.atomic || matches!(case.kind, OpKind::Load | OpKind::Store)));
    let worst = |outcome: &Outcome| match outcome {
        Outcome::Weaker(_) => 0,
        Outcome::Missing(_) => 1,
        Outcome::Unknown(_) => 2,
        Outcome::Stronger(_) => 3,
        Outcome::Strengthened => 4,
        Outcome::Right(_) => 5,
    };
    seen.iter().map(|seen| seen.judge(case)).min_by_key(worst).expect("not empty")
}

#[derive(Default, Clone, Copy)]
struct Share {
    right: usize,
    total: usize,
}

struct Row {
    config: usize,
    shares: BTreeMap<&'static str, Share>,
    from: BTreeMap<&'static str, usize>,
    unknown: usize,
    stronger: usize,
    weaker: Vec<String>,
    others: Vec<String>,
}

fn column(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Load => "load",
        OpKind::Store => "store",
        OpKind::Rmw => "rmw",
        OpKind::Cas => "cas",
        OpKind::Fence => "fence",
    }
}

fn measure(config: usize, cases: &[Case]) -> Option<Row> {
    let path = build(&CONFIGS[config], cases)?;
    let image = Image::parse(Arc::from(std::fs::read(path).expect("just built"))).expect("an image");
    let debug = Debug::new(&image, Arc::new(Host { source: CONFIGS[config].source }));
    let orders = Orders::new(&image, &debug, Options::default());
    let fences: BTreeMap<u64, EmptyFence> =
        orders.empty_fences(&effects::effect).into_iter().map(|fence| (fence.pc, fence)).collect();
    let starts: BTreeMap<&str, u64> =
        image.symbols().iter().filter(|s| s.function).map(|s| (s.name.as_str(), s.addr)).collect();
    let mut row = Row {
        config,
        shares: BTreeMap::new(),
        from: BTreeMap::new(),
        unknown: 0,
        stronger: 0,
        weaker: Vec::new(),
        others: Vec::new(),
    };
    for case in cases {
        let share = row.shares.entry(column(case.kind)).or_default();
        share.total += 1;
        let outcome = match starts.get(case.name.as_str()) {
            Some(&start) => judge(case, start, &image, &orders, &fences),
            None => Outcome::Missing("no such function".into()),
        };
        match outcome {
            Outcome::Right(from) => {
                share.right += 1;
                *row.from.entry(from.name()).or_default() += 1;
                continue;
            }
            Outcome::Unknown(_) => row.unknown += 1,
            Outcome::Stronger(_) => row.stronger += 1,
            // rustc leaves no trace of a fence: that is all that can be said without the text, and of a function with one.
            Outcome::Strengthened if config_strengthens(&CONFIGS[config], case) => {
                share.right += 1;
                continue;
            }
            Outcome::Strengthened => row.stronger += 1,
            Outcome::Weaker(ref what) => row.weaker.push(format!("{}: {what}", case.name)),
            Outcome::Missing(_) => {}
        }
        row.others.push(format!("{}: {outcome:?}", case.name));
    }
    Some(row)
}

fn config_strengthens(config: &Config, case: &Case) -> bool {
    // Line tables do not say where a function begins: all of the file counts.
    let readable = config.source && config.flags.contains(&"-g");
    config.compiler == "rustc" && config.optimised && (!readable || case.kind == OpKind::Fence)
}

#[test]
fn orders_of_every_operation_are_recovered() {
    let (cpp, rust) = (cases::cpp(), cases::rust());
    let next = Mutex::new(0..CONFIGS.len());
    let rows = Mutex::new(Vec::new());
    // Two compilers at a time: this is most of the test's time.
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(config) = { next.lock().expect("no panic").next() } {
                    let cases = if CONFIGS[config].compiler == "rustc" { &rust } else { &cpp };
                    // libc++ 14 has no atomic_ref. Unoptimised, it loads pointers and structures by way of a copy
                    // that has no name: two accesses are called atomic, and only a thread can tell them apart.
                    let libcxx = CONFIGS[config].flags.contains(&LIBCXX);
                    let copied = |name: &str| {
                        !CONFIGS[config].optimised
                            && (name.starts_with("load_ptr") || name.starts_with("load_pair"))
                    };
                    let left_out =
                        |case: &&Case| libcxx && (case.name.contains("_ref") || copied(&case.name));
                    let cases: Vec<Case> = cases.iter().filter(|case| !left_out(case)).cloned().collect();
                    let row = measure(config, &cases);
                    rows.lock().expect("no panic").push((config, row));
                }
            });
        }
    });
    let mut rows = rows.into_inner().expect("no panic");
    rows.sort_by_key(|(config, _)| *config);

    println!(
        "\n{:24}{:>12}{:>12}{:>12}{:>12}{:>12}  unknown stronger weaker  from",
        "", "load", "store", "rmw", "cas", "fence"
    );
    let mut failures = Vec::new();
    for (at, row) in rows {
        let Some(row) = row else {
            println!("{:24} skipped: there is no {} here", CONFIGS[at].name, CONFIGS[at].compiler);
            continue;
        };
        let config = &CONFIGS[row.config];
        let mut line = format!("{:24}", config.name);
        let (mut right, mut total) = (0, 0);
        for kind in ["load", "store", "rmw", "cas", "fence"] {
            let share = row.shares.get(kind).copied().unwrap_or_default();
            line.push_str(&format!("{:>12}", format!("{}/{}", share.right, share.total)));
            if kind != "rmw" {
                right += share.right;
                total += share.total;
            }
        }
        let from: Vec<String> = row.from.iter().map(|(from, count)| format!("{from} {count}")).collect();
        println!(
            "{line}  {:>7} {:>8} {:>6}  {}",
            row.unknown,
            row.stronger,
            row.weaker.len(),
            from.join(", ")
        );
        for other in row.others.iter().take(6) {
            println!("    {other}");
        }
        if !row.weaker.is_empty() {
            failures.push(format!(
                "{}: {} wrong towards weaker: {:?}",
                config.name,
                row.weaker.len(),
                row.weaker
            ));
        }
        if right * 100 < total * 99 {
            failures.push(format!("{}: {right} of {total} loads, stores, fences and CASes", config.name));
        }
        // An order that a wrapper passes on is no name in the source: with line tables alone it is unknown.
        let lines = config.flags.contains(&"-g1");
        let wrapped = row
            .others
            .iter()
            .filter(|other| other.starts_with("wrapped_load_") && other.ends_with("Unknown(Policy)"));
        if lines && wrapped.count() != 3 {
            failures.push(format!("{}: what a wrapper passes on is unknown: {:?}", config.name, row.others));
        }
        if config.optimised && row.from.contains_key(Source::Runtime.name()) {
            failures.push(format!("{}: optimised code needs no thread to tell its orders", config.name));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
