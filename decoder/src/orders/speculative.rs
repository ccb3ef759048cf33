//! Loads that a compiler may have made where the source has none.
//!
//! `if (ready) v = data;` may be compiled to a load of `data`, always, and a conditional move; a load may be taken out of a
//! loop that is not entered. The processor does not mind, and compilers may do that: a plain load whose value nobody uses
//! does nothing. In the memory model it would be a race. So a race of a plain load counts only if the load is one of the
//! source for sure: on every path from it, what it has loaded is used.
//!
//! A use is an address, a condition of a jump, an argument or result of a function, a store to memory or to a variable. No
//! use is a choice between the value and another (`cmov`, `and` of two registers, a blend), unless the value is the
//! condition, and neither is a copy. What the search cannot follow counts as unused. A path that ends the program (a failed assertion, a panic) counts for nothing.

use super::Orders;
use super::instance::{Instance, has_type};
use super::ops::{Op, OpKind, Scale};
use super::registers::stack_pointer;
use crate::effect::{Access, AccessKind, Arch, Flow, InsnEffect, Reg, RegSet};
use crate::machine::Decoder;
use crate::{aarch64, x86};
use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

/// The most steps of one search.
const MAX_STEPS: usize = 20_000;

/// Functions that do not return.
const NO_RETURN: [&str; 16] = [
    "abort",
    "exit",
    "_exit",
    "_Exit",
    "quick_exit",
    "pthread_exit",
    "__assert_fail",
    "__assert_perror_fail",
    "__stack_chk_fail",
    "__chk_fail",
    "__cxa_throw",
    "__cxa_rethrow",
    "_Unwind_Resume",
    "longjmp",
    "siglongjmp",
    "_ZSt9terminatev",
];
/// The same of C++'s and Rust's libraries, by a part of their mangled names.
const NO_RETURN_PARTS: [&str; 4] = ["__throw_", "9panicking", "13expect_failed", "13unwrap_failed"];

/// Whether a function of this name does not return.
fn is_end(name: &str) -> bool {
    NO_RETURN.contains(&name) || NO_RETURN_PARTS.iter().any(|part| name.contains(part))
}

/// Where a value is while a path is followed.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Held {
    registers: RegSet,
    /// Places of the frame, by the register and the distance from it.
    slots: BTreeSet<(Reg, i64)>,
}

impl Held {
    fn is_empty(&self) -> bool {
        self.registers == RegSet::EMPTY && self.slots.is_empty()
    }
}

/// What becomes of the value at one instruction.
enum Fate {
    Used,
    /// It is dropped, or nobody can tell.
    Unused,
    /// The program ends here.
    Ends,
    /// It goes on at these places.
    Goes(Vec<u64>, Held),
}

impl Orders<'_> {
    /// Whether the compiler may have made the load of an instruction where the source has none.
    pub fn may_be_speculative(&self, pc: u64) -> bool {
        let search = Search { orders: self, decoder: Decoder::shared(self.image.arch()) };
        search.may_be_unused(pc)
    }

    /// Whether debug information has a variable at a place of the frame: what is written there is assigned.
    fn is_variable(&self, pc: u64, access: &Access) -> bool {
        let Some(Some(place)) = self.frame_place(pc, access) else { return false };
        let Some((unit, chain)) = self.debug.chain(pc) else { return false };
        let cfa = self.debug.cfa(pc);
        // Only its place is asked for: any operation will do.
        let op = Op { kind: OpKind::Load, scale: Scale::C, fixed: None, indirect: false };
        chain.iter().any(|&node| {
            let instance = Instance { debug: self.debug, unit, node, op, pc, cfa };
            unit.variables(node).any(|entry| instance.frame_slot(entry, false) == Some(place))
        })
    }
}

struct Search<'a> {
    orders: &'a Orders<'a>,
    decoder: Rc<Decoder>,
}

impl Search<'_> {
    fn may_be_unused(&self, pc: u64) -> bool {
        let Some(effect) = self.effect(pc) else { return true };
        let loads = |access: &Access| access.kind == AccessKind::Load;
        if !effect.accesses.iter().all(loads) || effect.flow != Flow::Next {
            return false;
        }
        if self.chooses(pc) {
            return true;
        }
        let mut written = RegSet::EMPTY;
        effect.writes.iter().filter(|&reg| !self.is_fixed(reg)).for_each(|reg| written.insert(reg));
        let first = Held { registers: written, ..Held::default() };
        let mut open = vec![(pc.saturating_add(u64::from(effect.len.max(1))), first)];
        let mut seen = HashSet::new();
        while let Some(here) = open.pop() {
            if here.1.is_empty() || seen.len() > MAX_STEPS {
                return true;
            }
            if !seen.insert(here.clone()) {
                continue;
            }
            match self.fate(here.0, here.1) {
                Fate::Used | Fate::Ends => {}
                Fate::Unused => return true,
                Fate::Goes(places, held) => open.extend(places.into_iter().map(|pc| (pc, held.clone()))),
            }
        }
        false
    }

    fn effect(&self, pc: u64) -> Option<InsnEffect> {
        self.decoder.decode(pc, self.orders.image.code_at(pc)?).ok()
    }

    fn fate(&self, pc: u64, held: Held) -> Fate {
        let Some(effect) = self.effect(pc) else { return Fate::Unused };
        let next = pc.saturating_add(u64::from(effect.len.max(1)));
        let any = |set: RegSet| set.iter().any(|reg| held.registers.contains(reg));
        let [arguments, results, kept] = conventions(self.orders.image.arch());
        match effect.flow {
            Flow::Next => self.passed(pc, &effect, next, held),
            Flow::Jump { conditional: true, .. } | Flow::IndirectJump if any(effect.reads) => Fate::Used,
            Flow::Jump { target, conditional: true } => Fate::Goes(vec![target, next], held),
            Flow::Jump { target, conditional: false } if self.is_inside(pc, target) => {
                Fate::Goes(vec![target], held)
            }
            Flow::Trap => Fate::Ends,
            Flow::Return if any(results) && self.has_result(pc) => Fate::Used,
            // A call at the end of a function is a jump.
            Flow::Call { .. } | Flow::Jump { .. } if any(arguments) || any(effect.reads) => Fate::Used,
            Flow::Call { target } => {
                let name = target.and_then(|target| self.orders.called(target));
                if name.is_some_and(is_end) {
                    return Fate::Ends;
                }
                let mut after = Held { registers: RegSet::EMPTY, ..held };
                held.registers
                    .iter()
                    .filter(|&reg| kept.contains(reg))
                    .for_each(|reg| after.registers.insert(reg));
                Fate::Goes(vec![next], after)
            }
            Flow::Jump { target, .. } => {
                let name = self.orders.called(target);
                if name.is_some_and(is_end) { Fate::Ends } else { Fate::Unused }
            }
            // The kernel's arguments and results are nearly those of functions.
            Flow::Syscall if any(arguments) || any(results) => Fate::Used,
            Flow::Syscall => Fate::Goes(vec![next], held),
            Flow::Return | Flow::IndirectJump => Fate::Unused,
        }
    }

    /// An instruction that goes on to the next one.
    fn passed(&self, pc: u64, effect: &InsnEffect, next: u64, mut held: Held) -> Fate {
        let slot = |access: &Access| {
            let frame = access.address.base.filter(|&base| self.is_frame(base));
            frame.filter(|_| access.address.index.is_none()).map(|base| (base, access.address.displacement))
        };
        let has = |reg: Option<Reg>| reg.is_some_and(|reg| held.registers.contains(reg));
        let addressed =
            |access: &Access| has(access.address.base) || has(access.address.index.map(|index| index.reg));
        if effect.accesses.iter().any(addressed) {
            return Fate::Used;
        }
        let loads = |access: &&Access| access.kind != AccessKind::Store;
        let from_slot = |access: &Access| slot(access).is_some_and(|slot| held.slots.contains(&slot));
        let reads = effect.reads.iter().any(|reg| held.registers.contains(reg)) && !self.clears(pc);
        let reads = reads || effect.accesses.iter().filter(loads).any(from_slot);
        if reads && self.chooses(pc) && !self.is_settled(effect, &held, from_slot) {
            return Fate::Unused;
        }
        // Whoever has its address may look at it.
        if self.refers(pc).is_some_and(|slot| held.slots.contains(&slot)) {
            return Fate::Used;
        }
        let mut into = Vec::new();
        for access in effect.accesses.iter().filter(|access| access.kind != AccessKind::Load) {
            match slot(access) {
                Some(slot) if reads && !self.orders.is_variable(pc, access) => into.push(slot),
                _ if reads => return Fate::Used,
                Some(slot) => drop(held.slots.remove(&slot)),
                None => {}
            }
        }
        let mut registers = RegSet::EMPTY;
        held.registers
            .iter()
            .filter(|&reg| !effect.writes.contains(reg))
            .chain(effect.writes.iter().filter(|&reg| reads && !self.is_fixed(reg)))
            .for_each(|reg| registers.insert(reg));
        held.registers = registers;
        held.slots.extend(into);
        Fate::Goes(vec![next], held)
    }

    /// Whether a choice does not drop the value: it depends on the value, or everything that it chooses from does.
    fn is_settled(&self, effect: &InsnEffect, held: &Held, from_slot: impl Fn(&Access) -> bool) -> bool {
        let condition = match self.orders.image.arch() {
            Arch::X86_64 => x86::regs::RFLAGS,
            Arch::Aarch64 => aarch64::regs::NZCV,
        };
        if effect.reads.contains(condition) && held.registers.contains(condition) {
            return true;
        }
        let addresses = |reg: Reg| {
            effect.accesses.iter().any(|access| {
                access.address.base == Some(reg) || access.address.index.is_some_and(|index| index.reg == reg)
            })
        };
        let mut others = effect.reads.iter().filter(|&reg| reg != condition && !addresses(reg));
        others.all(|reg| held.registers.contains(reg)) && effect.accesses.iter().all(from_slot)
    }

    /// The place of the frame whose address an instruction takes: `lea rdi, [rsp + 8]`, `add x0, sp, #0x8`.
    fn refers(&self, pc: u64) -> Option<(Reg, i64)> {
        let text = self.text(pc);
        let (base, distance) = match self.orders.image.arch() {
            Arch::X86_64 => {
                let inner = text.strip_prefix("lea ")?.split_once('[')?.1.strip_suffix(']')?;
                let base = if inner.starts_with("rsp") { x86::regs::RSP } else { x86::regs::RBP };
                let rest = inner.strip_prefix("rsp").or_else(|| inner.strip_prefix("rbp"))?;
                (base, rest.replace(' ', ""))
            }
            Arch::Aarch64 => {
                let (sign, rest) = match text.split_once(' ')? {
                    ("add", rest) => ("+", rest),
                    ("sub", rest) => ("-", rest),
                    _ => return None,
                };
                let [_, base, distance] = rest.split(", ").collect::<Vec<_>>()[..] else { return None };
                let base = match base {
                    "sp" => aarch64::regs::SP,
                    "x29" | "fp" => aarch64::regs::general(29),
                    _ => return None,
                };
                (base, format!("{sign}{}", distance.strip_prefix('#')?))
            }
        };
        let (sign, digits) = distance.split_at_checked(1).unwrap_or(("+", "0"));
        let value = match digits.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16).ok()?,
            None => digits.parse().ok()?,
        };
        Some((base, if sign == "-" { -value } else { value }))
    }

    /// Whether a function returns anything, as far as is known.
    fn has_result(&self, pc: u64) -> bool {
        let debug = self.orders.debug;
        let Some((unit, root)) = debug.chain(pc).and_then(|(unit, chain)| Some((unit, *chain.last()?)))
        else {
            return true;
        };
        // Line tables alone have no types.
        let typed = debug.types(unit, root).iter().any(|types| types.typed());
        !typed || has_type(debug, unit, unit.nodes[root as usize].entry)
    }

    /// Whether a jump stays in its function.
    fn is_inside(&self, pc: u64, target: u64) -> bool {
        match self.orders.debug.chain(pc) {
            Some((unit, chain)) => chain.last().is_some_and(|&root| {
                unit.nodes[root as usize].ranges.iter().any(|&(start, end)| start <= target && target < end)
            }),
            None => self.orders.function_at(pc).is_some_and(|(start, end)| start <= target && target < end),
        }
    }

    /// Whether a register is none that values go through.
    fn is_fixed(&self, reg: Reg) -> bool {
        reg == stack_pointer(self.orders.image.arch())
            || match self.orders.image.arch() {
                Arch::X86_64 => reg == x86::regs::RIP,
                Arch::Aarch64 => reg == aarch64::regs::PC,
            }
    }

    fn is_frame(&self, reg: Reg) -> bool {
        let pointer = match self.orders.image.arch() {
            Arch::X86_64 => x86::regs::RBP,
            Arch::Aarch64 => aarch64::regs::general(29),
        };
        reg == stack_pointer(self.orders.image.arch()) || reg == pointer
    }

    fn text(&self, pc: u64) -> String {
        self.orders.image.code_at(pc).and_then(|bytes| self.decoder.text(pc, bytes)).unwrap_or_default()
    }

    /// Whether an instruction makes a register 0, whatever it was: `xor eax, eax`.
    fn clears(&self, pc: u64) -> bool {
        let text = self.text(pc);
        let (name, operands) = text.split_once(' ').unwrap_or((&text, ""));
        let mut operands = operands.split(',').map(str::trim);
        let same = operands.next() == operands.next() && operands.next().is_none();
        same && ["xor", "sub", "pxor", "xorps", "xorpd", "eor"].contains(&name)
    }

    /// Whether an instruction chooses between values, or may: a conditional move, a mask that is no constant, a blend.
    fn chooses(&self, pc: u64) -> bool {
        let text = self.text(pc);
        let (name, operands) = text.split_once(' ').unwrap_or((&text, ""));
        const MASKS: [&str; 14] = [
            "and", "or", "test", "andn", "andps", "andpd", "andnps", "andnpd", "orps", "orpd", "bic", "orr",
            "ands", "tst",
        ];
        let mask = MASKS.contains(&name)
            || ["pand", "por", "vpand", "vpor", "vand", "vor", "vpternlog"]
                .iter()
                .any(|it| name.starts_with(it));
        let last = operands.rsplit(',').next().unwrap_or_default().trim();
        let constant = last.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '#');
        let mut pair = operands.split(',').map(str::trim);
        // `test eax, eax` looks at one value.
        let same = pair.next() == pair.next();
        name.starts_with("cmov")
            || name.starts_with("fcmov")
            || name.starts_with("csel")
            || name.starts_with("csin")
            || name.starts_with("csneg")
            || name.starts_with("fcsel")
            || name.contains("blend")
            || name.contains("maskmov")
            || matches!(name, "bsl" | "bit" | "bif")
            || mask && !constant && !same
    }
}

/// The registers of arguments, of results, and those that a function gives back as it found them.
fn conventions(arch: Arch) -> [RegSet; 3] {
    let set = |regs: &mut dyn Iterator<Item = Reg>| {
        let mut set = RegSet::EMPTY;
        regs.for_each(|reg| set.insert(reg));
        set
    };
    match arch {
        Arch::X86_64 => [
            set(&mut [7, 6, 2, 1, 8, 9].into_iter().map(x86::regs::gpr).chain((0..8).map(x86::regs::zmm))),
            set(&mut [0, 2].into_iter().map(x86::regs::gpr).chain((0..2).map(x86::regs::zmm))),
            set(&mut [3, 5, 12, 13, 14, 15].into_iter().map(x86::regs::gpr)),
        ],
        Arch::Aarch64 => [
            set(&mut (0..9).map(aarch64::regs::general).chain((0..8).map(aarch64::regs::vector))),
            set(&mut (0..2).map(aarch64::regs::general).chain((0..4).map(aarch64::regs::vector))),
            set(&mut (19..30).map(aarch64::regs::general).chain((8..16).map(aarch64::regs::vector))),
        ],
    }
}
