//! What the engine does for a thread is what the processor does: the simple instructions of the C library, and random
//! ones, on the real processor and by [`Simple`], from the same random registers.

use super::code::simple;
use super::does::state_of;
use super::managed::gpr_mut;
use super::registers::View;
use crate::os::Tid;
use crate::os::memory::ProcessMemory;
use crate::os::ptrace::Regs;
use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous};
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};
use object::{Object as _, ObjectSection as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use std::collections::BTreeSet;
use std::num::NonZero;
use wmtrace_decoder::effect::AccessKind;
use wmtrace_decoder::x86::Decoder;
use wmtrace_decoder::x86::simple::{Simple, State};

/// Instructions of each kind that are tried on the processor.
const TRIED: usize = 10_000;

/// Where the instructions are, and what they touch: bytes in the middle of a few pages.
const PAGES: usize = 4;
const MIDDLE: u64 = 0x1800;

/// A process that runs single instructions.
struct Processor {
    pid: Pid,
    memory: ProcessMemory,
    code: u64,
    data: u64,
}

impl Processor {
    fn new() -> Processor {
        let map = |protection| {
            let len = NonZero::new(PAGES * 4096).unwrap();
            // SAFETY: a new mapping.
            let at = unsafe { mmap_anonymous(None, len, protection, MapFlags::MAP_PRIVATE) };
            at.unwrap().as_ptr() as u64
        };
        let code = map(ProtFlags::PROT_READ | ProtFlags::PROT_EXEC);
        let data = map(ProtFlags::PROT_READ | ProtFlags::PROT_WRITE);
        // SAFETY: the child only makes system calls.
        match unsafe { fork() }.unwrap() {
            ForkResult::Child => {
                let _ = ptrace::traceme();
                let _ = nix::sys::signal::raise(Signal::SIGSTOP);
                // SAFETY: leaves at once.
                unsafe { libc::_exit(0) }
            }
            ForkResult::Parent { child } => {
                waitpid(child, None).unwrap();
                let memory = ProcessMemory::open(Tid(child.as_raw())).unwrap();
                Processor { pid: child, memory, code, data }
            }
        }
    }

    /// Runs one instruction with these registers; whether it got to the next one.
    fn run(&self, bytes: &[u8], regs: &mut Regs) -> bool {
        self.memory.force(self.code, bytes).unwrap();
        regs.rip = self.code;
        ptrace::setregs(self.pid, *regs).unwrap();
        ptrace::step(self.pid, None).unwrap();
        let status = waitpid(self.pid, None).unwrap();
        self.memory.changes();
        *regs = ptrace::getregs(self.pid).unwrap();
        status == WaitStatus::Stopped(self.pid, Signal::SIGTRAP) && regs.rip == self.code + bytes.len() as u64
    }
}

impl Drop for Processor {
    fn drop(&mut self) {
        let _ = ptrace::kill(self.pid);
        let _ = waitpid(self.pid, None);
    }
}

/// The code of the C library that this test uses itself.
fn code() -> Vec<u8> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let path = maps.split_whitespace().find(|word| word.contains("libc.so")).expect("the C library");
    let file = std::fs::read(path).unwrap();
    let file = object::File::parse(&*file).unwrap();
    file.section_by_name(".text").unwrap().data().unwrap().to_vec()
}

/// The simple instructions in some code, each once.
fn simple_ones(code: &[u8]) -> BTreeSet<Vec<u8>> {
    let decoder = Decoder::new();
    let (mut found, mut at) = (BTreeSet::new(), 0);
    while at < code.len() {
        let bytes = &code[at..code.len().min(at + 15)];
        let len = decoder.decode(0x1000, bytes).map_or(1, |effect| usize::from(effect.len));
        if simple(0x1000, &bytes[..len.min(bytes.len())]).is_some() {
            found.insert(bytes[..len].to_vec());
        }
        at += len;
    }
    found
}

/// Simple instructions that no compiler may ever have made.
fn random_ones(rng: &mut Xoshiro256PlusPlus) -> BTreeSet<Vec<u8>> {
    let prefixes: [&[u8]; 14] = [
        &[],
        &[0x66],
        &[0x48],
        &[0x41],
        &[0x4d],
        &[0x44],
        &[0xf0],
        &[0xf0, 0x48],
        &[0x64],
        &[0x66, 0x45],
        // Bit scans.
        &[0xf3, 0x0f],
        &[0xf3, 0x48, 0x0f],
        // BMI.
        &[0xc4, 0xe2],
        &[0xc4, 0x63],
    ];
    let decoder = Decoder::new();
    let mut found = BTreeSet::new();
    while found.len() < TRIED {
        let mut bytes = prefixes[rng.next_u64() as usize % prefixes.len()].to_vec();
        if rng.next_u64().is_multiple_of(2) {
            bytes.push(0x0f);
        }
        bytes.extend(rng.next_u64().to_le_bytes());
        let Ok(effect) = decoder.decode(0x1000, &bytes) else { continue };
        bytes.truncate(usize::from(effect.len));
        if simple(0x1000, &bytes).is_some() {
            found.insert(bytes);
        }
    }
    found
}

/// Changes a register so that the instruction touches this address.
fn aim(simple: &Simple, state: &mut State, addr: u64) -> bool {
    let Some(touch) = simple.touches(state) else { return true };
    (0..16).any(|number| {
        let mut aimed = *state;
        aimed.general[number] = aimed.general[number].wrapping_add(addr.wrapping_sub(touch.addr));
        let hits = simple.touches(&aimed).is_some_and(|touch| touch.addr == addr);
        if hits {
            *state = aimed;
        }
        hits
    })
}

fn random_state(rng: &mut Xoshiro256PlusPlus) -> State {
    // Small numbers, and such with few bits, as programs have them, too.
    let general = std::array::from_fn(|_| match rng.next_u64() % 4 {
        0 => rng.next_u64(),
        1 => rng.next_u64() % 256,
        2 => (rng.next_u64() as i8) as u64,
        _ => 1 << (rng.next_u64() % 64),
    });
    State { general, flags: 0x202 | rng.next_u64() & 0x8d5, fs_base: 0, gs_base: 0 }
}

fn to_regs(state: &State, regs: &mut Regs) {
    for (number, &value) in (0..).zip(&state.general) {
        *gpr_mut(regs, number) = value;
    }
    (regs.eflags, regs.fs_base, regs.gs_base) = (state.flags, state.fs_base, state.gs_base);
}

#[test]
fn simple_instructions() {
    let processor = Processor::new();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let real = simple_ones(&code());
    assert!(real.len() > TRIED, "{} simple instructions in the C library", real.len());
    let random = random_ones(&mut rng);
    let clean = ptrace::getregs(processor.pid).unwrap();
    let target = processor.data + MIDDLE;
    let (mut tried, mut wrong) = (0, Vec::new());
    for bytes in real.iter().step_by(real.len() / TRIED).chain(&random) {
        let simple = Simple::of(processor.code, bytes).unwrap();
        let mut state = random_state(&mut rng);
        if !aim(&simple, &mut state, target) {
            continue;
        }
        tried += 1;
        let loaded = rng.next_u64();
        processor.memory.force(target, &loaded.to_le_bytes()).unwrap();
        let mut regs = clean;
        to_regs(&state, &mut regs);
        if !processor.run(bytes, &mut regs) {
            wrong.push(format!("{bytes:x?} does not run"));
            continue;
        }
        let before = state;
        let touch = simple.touches(&state);
        let width = touch.map_or(8, |touch| u32::from(touch.width));
        let stored = simple.run(&mut state, loaded & (u64::MAX >> (64 - 8 * width)));
        let after = processor.memory.read_u64(target).unwrap();
        let expected = match stored {
            Some(value) => loaded & !(u64::MAX >> (64 - 8 * width)) | value,
            None => loaded,
        };
        let undefined = u64::from(iced_undefined(bytes));
        let flags = |flags: u64| flags & 0x8d5 & !undefined;
        let is = state_of(&regs);
        if is.general != state.general || flags(is.flags) != flags(state.flags) || after != expected {
            wrong.push(format!(
                "{bytes:x?} of {before:x?} and {loaded:x}:\n{is:x?} {after:x}\n{state:x?} {expected:x}"
            ));
        }
    }
    assert!(tried > TRIED, "only {tried}");
    assert!(
        wrong.is_empty(),
        "{} of {tried} wrong:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(10)].join("\n")
    );
}

/// The flags that the manual does not define.
fn iced_undefined(bytes: &[u8]) -> u16 {
    use iced_x86::RflagsBits;
    let insn = iced_x86::Decoder::with_ip(64, bytes, 0, iced_x86::DecoderOptions::NONE).decode();
    let table = [
        (RflagsBits::OF, 1 << 11),
        (RflagsBits::SF, 1 << 7),
        (RflagsBits::ZF, 1 << 6),
        (RflagsBits::AF, 1 << 4),
        (RflagsBits::CF, 1),
        (RflagsBits::PF, 1 << 2),
    ];
    table.iter().filter(|(flag, _)| insn.rflags_undefined() & flag != 0).map(|(_, bit)| bit).sum()
}

/// The effects, by which the engine decides whether an instruction is an event, are those of [`Simple`].
#[test]
fn effects_agree() {
    let decoder = Decoder::new();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
    let mut wrong = Vec::new();
    let random = random_ones(&mut rng);
    for bytes in simple_ones(&code()).iter().chain(&random) {
        let simple = Simple::of(0x1000, bytes).unwrap();
        let effect = decoder.decode(0x1000, bytes).unwrap();
        let mut state = random_state(&mut rng);
        (state.fs_base, state.gs_base) = (0x7000_0000, 0x8000_0000);
        // SAFETY: plain numbers.
        let mut regs: Regs = unsafe { std::mem::zeroed() };
        to_regs(&state, &mut regs);
        regs.rip = 0x1000;
        let mut concrete = Vec::new();
        let view = View::new(&regs, None);
        effect.accesses.iter().for_each(|access| access.resolve_into(&view, &mut concrete));
        let kinds = |kind: AccessKind| (kind != AccessKind::Store, kind != AccessKind::Load);
        let expected: Vec<_> = concrete.iter().map(|it| (it.addr, it.len, kinds(it.kind))).collect();
        let touch = simple.touches(&state);
        let is: Vec<_> =
            touch.iter().map(|it| (it.addr, u64::from(it.width), (it.loads, it.stores))).collect();
        if expected != is {
            wrong.push(format!("{bytes:x?}: {is:x?}, the decoder says {expected:x?}"));
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}
