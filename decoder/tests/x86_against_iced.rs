//! Our effects against iced-x86's `InstructionInfo`: memory operands, widths, reads and writes, registers and
//! control flow, for every instruction of real libraries and of this test program, and for encodings made up
//! from every opcode. What differs on purpose is listed in [`EXCEPTIONS`], with the reason.
#![cfg(target_arch = "x86_64")]

use iced_x86::{
    DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, MemorySize, Mnemonic, OpAccess, OpKind,
    Register, RflagsBits, UsedMemory,
};
use object::{Object, ObjectSection, SectionKind};
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use wmtrace_decoder::effect::{AccessKind, Extent, Flow, InsnEffect, Reg, RegSet};
use wmtrace_decoder::x86::{Decoder, MAX_LEN, regs};
use wmtrace_model::rng::Rng;

/// Where every instruction is decoded.
const PC: u64 = 0x1000_0000;

/// What can differ.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Aspect {
    /// Ours is unsupported.
    Unsupported,
    /// The number of bytes.
    Length,
    /// Memory accesses.
    Memory,
    /// The width of the elements that a mask chooses from.
    Element,
    /// A register that only we read or write.
    Extra,
    /// A register that only iced-x86 reads or writes.
    Missing,
    /// Control flow.
    Flow,
}

/// A difference that is meant.
struct Exception {
    aspect: Aspect,
    /// What the difference says, in part.
    says: &'static str,
    /// For which instructions, of those with a mnemonic below.
    when: fn(&Instruction) -> bool,
    /// Empty: what it says is a row of our tables, and so names the instructions.
    mnemonics: &'static [Mnemonic],
    reason: &'static str,
}

fn always(_: &Instruction) -> bool {
    true
}

/// The last two register operands are the same.
fn same_registers(insn: &Instruction) -> bool {
    let last = insn.op_count() - 1;
    last > 0 && insn.op_register(last - 1) == insn.op_register(last) && !has_memory(insn)
}

fn has_memory(insn: &Instruction) -> bool {
    insn.op_kinds().any(|kind| kind == OpKind::Memory)
}

fn constant_count(insn: &Instruction) -> bool {
    insn.op_kind(insn.op_count() - 1) == OpKind::Immediate8
}

#[path = "tables/x86_exceptions.rs"]
mod exceptions;
use exceptions::EXCEPTIONS;

/// One access, in terms that both can say.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Place {
    reads: bool,
    writes: bool,
    base: Option<Reg>,
    index: Option<(Reg, u8)>,
    displacement: u64,
    segment: Option<Reg>,
    /// 0: it depends on registers (`rep`, XSAVE).
    bytes: u64,
}

fn reg(register: Register) -> Option<Reg> {
    if register == Register::None || register == Register::RIP || register == Register::EIP {
        None
    } else if register.is_gpr() {
        Some(regs::gpr(register.full_register().number() as u8))
    } else if register.is_vector_register() {
        Some(regs::zmm(register.number() as u8))
    } else if register.is_k() {
        Some(regs::mask(register.number() as u8))
    } else if register.is_st() || register.is_mm() {
        Some(regs::X87)
    } else if register.is_bnd() {
        Some(regs::BOUNDS)
    } else {
        match register {
            Register::FS => Some(regs::FS_BASE),
            Register::GS => Some(regs::GS_BASE),
            Register::ES | Register::CS | Register::SS | Register::DS => {
                Some(regs::selector(register.number() as u8))
            }
            // Control and debug registers, tiles.
            _ => None,
        }
    }
}

fn segment(register: Register) -> Option<Reg> {
    match register {
        Register::FS => Some(regs::FS_BASE),
        Register::GS => Some(regs::GS_BASE),
        _ => None,
    }
}

fn their_place(memory: &UsedMemory) -> Option<Place> {
    let (reads, writes) = match memory.access() {
        OpAccess::None | OpAccess::NoMemAccess => return None,
        OpAccess::Read | OpAccess::CondRead => (true, false),
        OpAccess::Write | OpAccess::CondWrite => (false, true),
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => (true, true),
    };
    let index = reg(memory.index()).map(|index| (index, memory.scale() as u8));
    // Both `[rax * 1]` and `[rax]` are possible.
    Some(normal(Place {
        reads,
        writes,
        base: reg(memory.base()),
        index,
        displacement: memory.displacement(),
        segment: segment(memory.segment()),
        bytes: match memory.memory_size() {
            MemorySize::Unknown => 0,
            size => size.size() as u64,
        },
    }))
}

fn normal(place: Place) -> Place {
    match (place.base, place.index) {
        (None, Some((index, 1))) => Place { base: Some(index), index: None, ..place },
        _ => place,
    }
}

fn our_places(effect: &InsnEffect) -> Vec<Place> {
    let mut places: Vec<Place> = effect
        .accesses
        .iter()
        .map(|access| {
            let address = access.address;
            let mut index = address.index.map(|index| (index.reg, index.scale));
            let bytes = match access.extent {
                Extent::Bytes(bytes) => u64::from(bytes),
                Extent::Masked { element, lanes, .. } | Extent::Packed { element, lanes, .. } => {
                    u64::from(element) * u64::from(lanes)
                }
                Extent::BitString { element, .. } => u64::from(element),
                Extent::Lanes { element, indices, scale, .. } => {
                    index = Some((indices, scale));
                    u64::from(element)
                }
                Extent::Repeated { .. } | Extent::AtMost(_) | Extent::Block(_) => 0,
            };
            let mut displacement = address.displacement as u64;
            let mut base = address.base;
            if base == Some(regs::RIP) {
                base = None;
                displacement = displacement.wrapping_add(PC);
            }
            if address.bits == 32 {
                displacement &= 0xffff_ffff;
            }
            normal(Place {
                reads: access.kind != AccessKind::Store,
                writes: access.kind != AccessKind::Load,
                base,
                index,
                displacement,
                segment: address.segment,
                bytes,
            })
        })
        .collect();
    places.sort();
    places
}

/// What iced-x86 has no registers for, or numbers in another way.
fn without_ours(set: RegSet) -> RegSet {
    let hidden = [regs::RIP, regs::MXCSR, regs::PKRU, regs::SSP, regs::X87, regs::BOUNDS];
    set.iter()
        .filter(|reg| !hidden.contains(reg))
        .map(|reg| match reg {
            reg if reg == regs::selector(4) => regs::FS_BASE,
            reg if reg == regs::selector(5) => regs::GS_BASE,
            reg => reg,
        })
        .fold(RegSet::EMPTY, RegSet::with)
}

fn minus(left: RegSet, right: RegSet) -> Vec<String> {
    left.iter().filter(|&reg| !right.contains(reg)).map(regs::name).collect()
}

/// One decoder of each kind.
struct Pair {
    ours: Decoder,
    theirs: InstructionInfoFactory,
}

impl Pair {
    fn new() -> Pair {
        Pair { ours: Decoder::new(), theirs: InstructionInfoFactory::new() }
    }

    /// Calls `differ` for each difference.
    fn compare(&mut self, bytes: &[u8], theirs: &Instruction, mut differ: impl FnMut(Aspect, String)) {
        let ours = match self.ours.decode(PC, bytes) {
            Ok(effect) => effect,
            Err(error) => return differ(Aspect::Unsupported, error.text),
        };
        if usize::from(ours.len) != theirs.len() {
            return differ(Aspect::Length, format!("{} and {} bytes", ours.len, theirs.len()));
        }
        let info = self.theirs.info(theirs);

        let mut places: Vec<Place> = info.used_memory().iter().filter_map(their_place).collect();
        places.sort();
        let our_places = our_places(&ours);
        if our_places != places {
            differ(Aspect::Memory, format!("{our_places:?} and {places:?}"));
        }

        for access in &ours.accesses {
            let (Extent::Masked { element, .. } | Extent::Packed { element, .. }) = access.extent else {
                continue;
            };
            let their_element = theirs.memory_size().element_size();
            if theirs.has_op_mask() && usize::from(element) != their_element {
                differ(Aspect::Element, format!("{element} and {their_element}"));
            }
        }

        let (mut reads, mut writes) = (RegSet::EMPTY, RegSet::EMPTY);
        for used in info.used_registers() {
            let Some(reg) = reg(used.register()) else { continue };
            match used.access() {
                OpAccess::None | OpAccess::NoMemAccess => {}
                OpAccess::Read | OpAccess::CondRead => reads.insert(reg),
                OpAccess::Write => writes.insert(reg),
                // A value that may stay is a value that is read.
                OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite => {
                    reads.insert(reg);
                    writes.insert(reg);
                }
            }
        }
        // x87's condition codes are among iced-x86's flags, and in our X87.
        let x87 = RflagsBits::C0 | RflagsBits::C1 | RflagsBits::C2 | RflagsBits::C3;
        if theirs.rflags_read() & !x87 != 0 {
            reads.insert(regs::RFLAGS);
        }
        if theirs.rflags_modified() & !x87 != 0 {
            writes.insert(regs::RFLAGS);
        }
        let (our_reads, our_writes) = (without_ours(ours.reads), without_ours(ours.writes));
        for (verb, our, their, all) in
            [("reads", our_reads, reads, ours.reads), ("writes", our_writes, writes, ours.writes)]
        {
            let extra = minus(our, their);
            if !extra.is_empty() {
                differ(Aspect::Extra, format!("{verb} {extra:?}"));
            }
            let missing = minus(their, our.union(all));
            if !missing.is_empty() {
                differ(Aspect::Missing, format!("{verb} {missing:?}"));
            }
        }

        let flow = match theirs.flow_control() {
            FlowControl::Next => Flow::Next,
            FlowControl::UnconditionalBranch => {
                Flow::Jump { target: theirs.near_branch_target(), conditional: false }
            }
            FlowControl::ConditionalBranch => {
                Flow::Jump { target: theirs.near_branch_target(), conditional: true }
            }
            FlowControl::IndirectBranch => Flow::IndirectJump,
            FlowControl::Return => Flow::Return,
            FlowControl::Call if theirs.mnemonic() == Mnemonic::Syscall => Flow::Syscall,
            FlowControl::Call => Flow::Call { target: Some(theirs.near_branch_target()) },
            FlowControl::IndirectCall => Flow::Call { target: None },
            FlowControl::Interrupt | FlowControl::Exception => Flow::Trap,
            FlowControl::XbeginXabortXend if theirs.mnemonic() == Mnemonic::Xbegin => {
                Flow::Jump { target: theirs.near_branch_target(), conditional: true }
            }
            FlowControl::XbeginXabortXend => Flow::Next,
        };
        if ours.flow != flow {
            differ(Aspect::Flow, format!("{:?} and {flow:?}", ours.flow));
        }
    }
}

/// What was compared and found.
#[derive(Default)]
struct Tally {
    instructions: u64,
    distinct: u64,
    undecoded: u64,
    unsupported: u64,
    /// By exception: how often, and the first.
    excused: BTreeMap<usize, (u64, String)>,
    /// What no exception excuses, by mnemonic and aspect: how often, and the first.
    wrong: BTreeMap<(String, Aspect), (u64, String)>,
}

impl Tally {
    fn differ(&mut self, bytes: &[u8], theirs: &Instruction, aspect: Aspect, what: &str) {
        let mnemonic = theirs.mnemonic();
        self.unsupported += u64::from(aspect == Aspect::Unsupported);
        let excuse = EXCEPTIONS.iter().position(|exception| {
            exception.aspect == aspect
                && what.contains(exception.says)
                && (exception.mnemonics.is_empty() || exception.mnemonics.contains(&mnemonic))
                && (exception.when)(theirs)
        });
        let hex = bytes[..theirs.len()].iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        let text = || format!("{hex} `{theirs}`: {what}");
        match excuse {
            Some(at) => self.excused.entry(at).or_insert_with(|| (0, text())).0 += 1,
            None => {
                let key = (format!("{mnemonic:?}"), aspect);
                self.wrong.entry(key).or_insert_with(|| (0, text())).0 += 1;
            }
        }
    }

    fn add(&mut self, other: Tally) {
        self.instructions += other.instructions;
        self.distinct += other.distinct;
        self.undecoded += other.undecoded;
        self.unsupported += other.unsupported;
        for (key, (count, first)) in other.excused {
            self.excused.entry(key).or_insert((0, first)).0 += count;
        }
        for (key, (count, first)) in other.wrong {
            self.wrong.entry(key).or_insert((0, first)).0 += count;
        }
    }

    fn check(&self, what: &str) {
        println!(
            "{what}: {} instructions, {} distinct, {} of these unsupported, {} places where iced-x86 finds none",
            self.instructions, self.distinct, self.unsupported, self.undecoded
        );
        for (&at, (count, first)) in &self.excused {
            let Exception { aspect, reason, .. } = EXCEPTIONS[at];
            println!("  {aspect:?} {count} times, {reason}; first {first}");
        }
        let wrong: Vec<_> = self
            .wrong
            .iter()
            .map(|((mnemonic, aspect), (count, first))| {
                format!("{mnemonic} {aspect:?}: {count} like {first}")
            })
            .collect();
        assert!(wrong.is_empty(), "{what}, {} kinds of difference:\n{}", wrong.len(), wrong.join("\n"));
    }
}

/// Compares each of the encodings, with two threads.
fn compare_all(encodings: &[Vec<u8>]) -> Tally {
    let half = encodings.len().div_ceil(2).max(1);
    std::thread::scope(|scope| {
        let workers: Vec<_> = encodings
            .chunks(half)
            .map(|part| {
                scope.spawn(move || {
                    let mut pair = Pair::new();
                    let mut tally = Tally::default();
                    for bytes in part {
                        let theirs = iced_x86::Decoder::with_ip(64, bytes, PC, DecoderOptions::NONE).decode();
                        if theirs.is_invalid() {
                            tally.undecoded += 1;
                            continue;
                        }
                        tally.distinct += 1;
                        pair.compare(bytes, &theirs, |aspect, what| {
                            tally.differ(bytes, &theirs, aspect, &what);
                        });
                    }
                    tally
                })
            })
            .collect();
        let mut sum = Tally::default();
        for worker in workers {
            sum.add(worker.join().expect("no panic"));
        }
        sum
    })
}

/// The distinct instructions of a file's executable sections, by a linear sweep with iced-x86's lengths.
fn sweep(path: &str) -> (u64, u64, HashSet<Vec<u8>>) {
    let data = std::fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}; run scripts/setup"));
    let file = object::File::parse(&*data).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (mut count, mut undecoded) = (0, 0);
    let mut distinct = HashSet::new();
    for section in file.sections() {
        if section.kind() != SectionKind::Text {
            continue;
        }
        let code = section.data().expect("a section in the file");
        let mut decoder = iced_x86::Decoder::with_ip(64, code, section.address(), DecoderOptions::NONE);
        while decoder.can_decode() {
            let start = decoder.position();
            let insn = decoder.decode();
            if insn.is_invalid() {
                undecoded += 1;
                continue;
            }
            count += 1;
            let bytes = &code[start..decoder.position()];
            if !distinct.contains(bytes) {
                distinct.insert(bytes.to_vec());
            }
        }
    }
    (count, undecoded, distinct)
}

fn check_file(path: &str) -> Tally {
    let (instructions, undecoded, distinct) = sweep(path);
    let mut encodings: Vec<Vec<u8>> = distinct.into_iter().collect();
    encodings.sort();
    let mut tally = compare_all(&encodings);
    assert_eq!(tally.distinct, encodings.len() as u64);
    tally.instructions = instructions;
    tally.undecoded = undecoded;
    tally.check(path);
    assert!(instructions > 10_000, "{path} is too small to show anything");
    tally
}

/// A compiler's code, without data in between: there, nothing is unsupported.
fn check_pure_file(path: &str) {
    assert_eq!(check_file(path).unsupported, 0, "{path}");
}

#[test]
fn libc() {
    check_pure_file("/usr/lib/x86_64-linux-gnu/libc.so.6");
}

#[test]
fn libstdcxx() {
    check_pure_file("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
}

#[test]
fn libcrypto() {
    // Its assembly keeps tables in the text, which the sweep takes for code.
    check_file("/usr/lib/x86_64-linux-gnu/libcrypto.so.3");
}

#[test]
fn this_program() {
    let path = std::env::current_exe().expect("Linux tells");
    check_pure_file(path.to_str().expect("a plain path"));
}

/// Every opcode of every map, with memory and register operands, with and without prefixes, masks, broadcasts
/// and vector indices: what libraries do not contain.
#[test]
fn made_up_encodings() {
    let mut all: Vec<Vec<u8>> = Vec::new();
    let mut add = |head: &[u8], modrm: &[u8]| {
        // A displacement of 16 for memory, and all small immediates: capstone's ids depend on them.
        let immediate = (all.len() % 37) as u8;
        let tail = [if modrm[0] < 0xc0 { 0x10 } else { immediate }, immediate, 0, 0, 0, 0, 0, 0];
        let mut bytes = [head, modrm, &tail].concat();
        bytes.truncate(MAX_LEN);
        all.push(bytes);
    };
    for prefix in [&[][..], &[0x66], &[0xf2], &[0xf3], &[0xf0], &[0x64, 0x67]] {
        for rex in [&[][..], &[0x45], &[0x4d]] {
            for map in [&[][..], &[0x0f], &[0x0f, 0x38], &[0x0f, 0x3a]] {
                for opcode in 0..=255 {
                    let head = [prefix, rex, map, &[opcode]].concat();
                    for digit in 0..8 {
                        add(&head, &[0x42 | digit << 3]);
                        add(&head, &[0xc5 | digit << 3]);
                    }
                }
            }
        }
    }
    // A `vvvv` of 15 (in the encoding) means no register.
    for (map, simd, w, opcode) in (1..=3_u8).flat_map(|map| {
        (0..4_u8).flat_map(move |simd| {
            [0, 0x80].into_iter().flat_map(move |w| (0..=255_u8).map(move |op| (map, simd, w, op)))
        })
    }) {
        for vvvv in [0x78, 0x08, 0x70] {
            for l in [0, 4] {
                for extension in [0xe0, 0x40] {
                    let head = [0xc4, extension | map, w | vvvv | l | simd, opcode];
                    for digit in 0..8 {
                        add(&head, &[0x42 | digit << 3]);
                        add(&head, &[0xc5 | digit << 3]);
                    }
                    add(&head, &[0x4c, 0x3a]);
                }
            }
            for l in [0, 0x20, 0x40] {
                for rest in [0x08, 0x0a, 0x8a, 0x18, 0x1a] {
                    let head = [0x62, 0xf0 | map, w | vvvv | 4 | simd, rest | l, opcode];
                    for modrm in [&[0x4a][..], &[0xcd], &[0x72], &[0x42], &[0x4c, 0x3a]] {
                        add(&head, modrm);
                    }
                }
            }
        }
    }
    let tally = compare_all(&all);
    tally.check("made-up encodings");
    assert!(tally.distinct > 200_000, "{} are too few", tally.distinct);
}

/// Random bytes, most of them behind a prefix or two: what nobody thought of.
#[test]
fn random_encodings() {
    let mut rng = Rng::new(7);
    let mut all: Vec<Vec<u8>> = Vec::new();
    for _ in 0..500_000 {
        const FIRST: [&[u8]; 20] = [
            &[],
            &[0x66],
            &[0xf2],
            &[0xf3],
            &[0xf0],
            &[0x67],
            &[0x64],
            &[0x48],
            &[0x66, 0x48],
            &[0xf3, 0x48],
            &[0x0f],
            &[0x66, 0x0f],
            &[0x66, 0xf2, 0x0f],
            &[0xf3, 0x66, 0x0f],
            &[0xf0, 0x66],
            &[0xc4],
            &[0xc5],
            &[0x62, 0xf1],
            &[0x62, 0xf2],
            &[0x62, 0xf3],
        ];
        let first = FIRST[rng.below(FIRST.len())];
        let bytes = [first, &rng.bits().to_le_bytes(), &rng.bits().to_le_bytes()].concat();
        all.push(bytes[..MAX_LEN].to_vec());
    }
    let tally = compare_all(&all);
    tally.check("random encodings");
    assert!(tally.distinct > 200_000, "{} are too few", tally.distinct);
}
