//! The same operations on AArch64, whose instructions state orders: what debug information says is what the source
//! says, and without debug information the instruction set gives every order that it has an instruction for.
//!
//! Nothing is run here: a function has one operation, and everything else in it is plain.

use super::cases::{self, Case};
use super::{Config, Host, build};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use wmtrace_decoder::aarch64::{Decoder, outline_atomic};
use wmtrace_decoder::debug::Debug;
use wmtrace_decoder::effect::{AccessKind, Extent, Flow};
use wmtrace_decoder::image::{Image, Symbol};
use wmtrace_decoder::orders::{Atomic, OpKind, Options, OrderInfo, Orders, Source};
use wmtrace_model::order::Order;

/// How read-modify-writes are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Style {
    /// One LSE instruction.
    Lse,
    /// A call of libgcc.
    Outline,
    /// A loop of exclusives.
    Exclusive,
}

const GCC: &str = "aarch64-linux-gnu-g++";
const CLANG: &str = "clang++";
const TARGET: &str = "--target=aarch64-linux-gnu";
const CONFIGS: [(&str, &str, &[&str], Style); 9] = [
    ("a64 g++ -O1 lse", GCC, &["-O1", "-march=armv8.1-a"], Style::Lse),
    ("a64 g++ -O2 lse", GCC, &["-O2", "-march=armv8.1-a"], Style::Lse),
    ("a64 g++ -O2 rcpc", GCC, &["-O2", "-march=armv8.3-a"], Style::Lse),
    ("a64 g++ -O2 outline", GCC, &["-O2", "-moutline-atomics"], Style::Outline),
    ("a64 g++ -O3 exclusive", GCC, &["-O3", "-mno-outline-atomics"], Style::Exclusive),
    ("a64 clang++ -O1 lse", CLANG, &[TARGET, "-O1", "-march=armv8.1-a"], Style::Lse),
    ("a64 clang++ -O2 lse", CLANG, &[TARGET, "-O2", "-march=armv8.3-a"], Style::Lse),
    ("a64 clang++ -O2 outline", CLANG, &[TARGET, "-O2", "-moutline-atomics"], Style::Outline),
    ("a64 clang++ -O3 exclusive", CLANG, &[TARGET, "-O3", "-mno-outline-atomics"], Style::Exclusive),
];

/// What is called atomic in a function.
#[derive(Clone, Debug)]
struct Found {
    kind: OpKind,
    info: OrderInfo,
    isa: Order,
}

fn found(symbol: &Symbol, image: &Image, orders: &Orders<'_>) -> Vec<Found> {
    let decoder = Decoder::new();
    let decode = |pc: u64, bytes: &[u8]| decoder.decode(pc, bytes).ok();
    let mut list = Vec::new();
    for pc in (symbol.addr..symbol.addr + symbol.size).step_by(4) {
        let effect = decode(pc, image.code_at(pc).expect("code")).expect("an instruction");
        if let Flow::Call { target: Some(target) } | Flow::Jump { target, conditional: false } = effect.flow
            && let Some(call) = orders.call(pc, target)
        {
            list.push(Found { kind: call.kind, info: call.info, isa: call.isa.expect("an outline atomic") });
        }
        let said = orders.without_thread(pc, &effect, &decode);
        if let Some(info) = said.fence {
            list.push(Found { kind: OpKind::Fence, info, isa: effect.fence.expect("a fence").order });
        }
        for (access, info) in effect.accesses.iter().zip(said.accesses) {
            let kind = match access.kind {
                AccessKind::Load => OpKind::Load,
                AccessKind::Store => OpKind::Store,
                AccessKind::Rmw | AccessKind::LoadStore => OpKind::Rmw,
            };
            if info.atomic == Atomic::Yes {
                list.push(Found { kind, info, isa: access.order });
            }
        }
    }
    list
}

/// The part of an order that a load or a store of a loop of exclusives has.
fn part(order: Order, kind: OpKind) -> Order {
    match (kind, order) {
        (OpKind::Load, Order::Release) | (OpKind::Store, Order::Acquire) => Order::Relaxed,
        (OpKind::Load, Order::AcqRel | Order::SeqCst) => Order::Acquire,
        (OpKind::Store, Order::AcqRel | Order::SeqCst) => Order::Release,
        (_, Order::SeqCst) => Order::AcqRel,
        (_, order) => order,
    }
}

/// The order that one instruction for both orders of a compare-and-swap has.
fn both(case: &Case) -> Order {
    match (case.order, case.failure) {
        (order, None) => order,
        (order, Some(failure)) if failure <= order => order,
        (order, Some(failure)) if order <= failure => failure,
        (_, Some(_)) => Order::AcqRel,
    }
}

fn stronger_failure(order: Order, failure: Order) -> bool {
    failure.partial_cmp(&order).is_none_or(std::cmp::Ordering::is_gt)
}

/// What is wrong with what was found; `debug`: there is debug information.
fn judge(case: &Case, style: Style, found: &[Found], debug: bool) -> Result<(), String> {
    let loop_ = style == Style::Exclusive && matches!(case.kind, OpKind::Rmw | OpKind::Cas);
    let kinds: Vec<OpKind> = found.iter().map(|found| found.kind).collect();
    // What is plain to the machine is unsure without debug information.
    if !debug && matches!(case.kind, OpKind::Load | OpKind::Store) && case.order == Order::Relaxed {
        return if found.is_empty() { Ok(()) } else { Err("atomic without evidence".into()) };
    }
    let wanted: &[&[OpKind]] = match case.kind {
        _ if loop_ => &[&[OpKind::Load, OpKind::Store]],
        OpKind::Load => &[&[OpKind::Load]],
        OpKind::Store => &[&[OpKind::Store]],
        // Outline atomics are known by their names.
        OpKind::Rmw => &[&[OpKind::Rmw]],
        OpKind::Cas => &[&[OpKind::Rmw], &[OpKind::Cas]],
        OpKind::Fence => &[&[OpKind::Fence]],
    };
    if !wanted.contains(&kinds.as_slice()) {
        return Err(format!("{kinds:?}"));
    }
    for Found { kind, info, isa } in found {
        let asked = if case.kind == OpKind::Fence { case.order } else { part(both(case), *kind) };
        // There is no release fence but the full one.
        let full = case.kind == OpKind::Fence && matches!(case.order, Order::Release | Order::AcqRel);
        // g++ makes the strongest of a compare-and-swap that fails with more than it succeeds with.
        let raised = case.failure.is_some_and(|failure| stronger_failure(case.order, failure))
            && *isa == part(Order::SeqCst, *kind);
        if *isa != asked && !(full && *isa == Order::SeqCst) && !raised {
            return Err(format!("the instruction has {isa}, not {asked}"));
        }
        if let Some(warning) = &info.warning {
            return Err(warning.to_string());
        }
        let expected = if debug { (Some(case.order), Source::Dwarf) } else { (Some(*isa), Source::Isa) };
        if (info.order, info.from) != expected {
            return Err(format!("{:?} {:?}", info.order, info.from));
        }
        if debug && case.failure != info.failure {
            return Err(format!("failure {:?}", info.failure));
        }
    }
    Ok(())
}

fn measure(image: &Image, debug: &Debug, cases: &[Case], style: Style, with_debug: bool) -> Vec<String> {
    let orders = Orders::new(image, debug, Options::default());
    let symbols: BTreeMap<&str, &Symbol> =
        image.symbols().iter().filter(|s| s.function).map(|s| (s.name.as_str(), s)).collect();
    let mut wrong = Vec::new();
    for case in cases {
        let list = found(symbols[case.name.as_str()], image, &orders);
        if let Err(what) = judge(case, style, &list, with_debug) {
            wrong.push(format!("{}: {what}", case.name));
        }
    }
    wrong
}

#[test]
fn aarch64_orders_are_what_source_and_instructions_say() {
    let cases = cases::cpp();
    let mut failures = Vec::new();
    for (name, compiler, flags, style) in CONFIGS {
        let has_headers = Path::new("/usr/aarch64-linux-gnu/include/c++").exists();
        let flags: Vec<&'static str> = flags.iter().copied().chain(["-g", "-Wno-psabi"]).collect();
        let config = Config { name, compiler, flags: flags.leak(), optimised: true, source: false };
        let Some(path) = has_headers.then(|| build(&config, &cases)).flatten() else {
            println!("{name:28} skipped: there is no cross compiler here");
            continue;
        };
        let stripped = path.with_extension("stripped");
        let status =
            Command::new("aarch64-linux-gnu-strip").arg("-g").arg(&path).arg("-o").arg(&stripped).status();
        assert!(status.expect("binutils of the cross compiler").success());
        for (path, debug) in [(path, true), (stripped, false)] {
            let image = Image::parse(Arc::from(std::fs::read(path).expect("just built"))).expect("an image");
            let information = Debug::new(&image, Arc::new(Host { source: false }));
            let wrong = measure(&image, &information, &cases, style, debug);
            let said = if debug { "debug information" } else { "instructions only" };
            println!("{name:28} {said} {}/{}", cases.len() - wrong.len(), cases.len());
            failures.extend(wrong.iter().map(|wrong| format!("{name}, {said}: {wrong}")));
        }
    }
    assert!(
        failures.is_empty(),
        "{} wrong:\n{}",
        failures.len(),
        failures[..failures.len().min(60)].join("\n")
    );
}

/// libgcc's own outline atomics: every one is known by its name, and its LSE instruction is what the name says.
#[test]
fn outline_atomics_are_what_libgcc_has() {
    use object::read::elf::ElfFile64;
    use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
    let Ok(output) = Command::new(GCC).arg("-print-libgcc-file-name").output() else {
        println!("skipped: there is no {GCC} here");
        return;
    };
    let path = String::from_utf8(output.stdout).expect("a path");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libgcc");
    std::fs::create_dir_all(&directory).expect("the test's directory");
    let extracted =
        Command::new("aarch64-linux-gnu-ar").arg("x").arg(path.trim()).current_dir(&directory).status();
    assert!(extracted.expect("binutils of the cross compiler").success());
    let decoder = Decoder::new();
    let (mut known, mut others) = (0, Vec::new());
    for member in std::fs::read_dir(&directory).expect("the test's directory") {
        let bytes = std::fs::read(member.expect("a member").path()).expect("its bytes");
        let Ok(file) = ElfFile64::<object::LittleEndian>::parse(&*bytes) else { continue };
        for symbol in file.symbols().filter(|symbol| symbol.is_definition() && symbol.is_global()) {
            let name = symbol.name().expect("a name");
            if !name.starts_with("__aarch64_") || symbol.kind() != object::SymbolKind::Text {
                continue;
            }
            let Some(outline) = outline_atomic(name) else {
                others.push(name.to_owned());
                continue;
            };
            let section = file.section_by_index(symbol.section_index().expect("a section")).expect("it");
            let code = &section.data().expect("code")[symbol.address() as usize..];
            let effects = code.chunks_exact(4).filter_map(|word| decoder.decode(0, word).ok());
            let rmw =
                effects.flat_map(|effect| effect.accesses).find(|access| access.kind == AccessKind::Rmw);
            let rmw = rmw.unwrap_or_else(|| panic!("{name}: no LSE instruction"));
            assert_eq!(rmw.extent, Extent::Bytes(outline.width.into()), "{name}");
            // `_sync` is acquire and release in one instruction, and a fence in the loop.
            assert_eq!(rmw.order, part(outline.order, OpKind::Rmw), "{name}");
            known += 1;
        }
    }
    assert_eq!((known, others), (125, vec!["__aarch64_sync_cache_range".to_owned()]));
}
