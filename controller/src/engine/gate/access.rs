//! Accesses: which of them the model decides on, and performing them as it says.
//!
//! A thread at the gate of an access has not made it yet. What the model only has to know is told when the thread has
//! come to its next gate; nobody else runs meanwhile. What the model decides on waits for its turn: a load gets its
//! value into the register, a store is written by the engine, and the thread goes on behind the instruction. What is
//! not that simple (read-modify-writes, vectors, pairs) runs, with the values that it is to read put into memory for
//! the moment, to the gate behind it; and what it wrote is taken away again until the model says so.

use super::code::{Insn, atomicity};
use super::exclusive::{Expected, SequenceKind};
use super::run::Run;
use super::thread::{Flight, Mode, Pending, Slot};
use crate::engine::EngineError;
use crate::engine::aliases::ALIAS;
use crate::engine::calls::Told;
use crate::engine::evidence::Standing;
use crate::engine::execution::Execution as _;
use crate::engine::flight::{Part, PartKind, as_meant, of_load, of_store, op_name};
use crate::engine::sites::What;
use crate::engine::time::mix;
use crate::os::ptrace;
use std::rc::Rc;
use wmtrace_decoder::aarch64::regs;
use wmtrace_decoder::effect::{AccessKind, Arch, Concrete, Registers as _, Writeback};
use wmtrace_decoder::orders::{self, Assume, Atomic, Meant, OrderInfo, Source};
use wmtrace_model::op::{Addr, How, Op, Place, Site, Value};
use wmtrace_model::order::Order;
use wmtrace_model::strategy::Strategy;

/// The most bytes of an access that the model decides on; longer ones are told.
const DECIDED: u64 = 64;

/// The top byte of an address is the program's own (Linux's tagged address ABI).
const ADDRESS: u64 = (1 << 56) - 1;

/// The most of a stack that a thread's state is told by.
const DEEPEST: u64 = 16 << 10;

/// What the model has to do with an access.
enum Role {
    Operation { order: Order, failure: Order },
    Plain,
    Private,
}

/// The accesses of one instruction, by what the model has to do with them.
#[derive(Default)]
struct Accesses {
    parts: Vec<Part>,
    told: Vec<Told>,
    /// Some of it is not mapped: it will fault.
    faults: bool,
}

impl<S: Strategy> Run<'_, S> {
    /// The thread is at the gate of an instruction under the model.
    pub(super) fn managed(&mut self, index: usize) -> Result<(), EngineError> {
        let insn = self.insn(index)?;
        let number = self.threads[index].fences;
        if let Some(info) = insn.before.get(number) {
            let order = self.order_of(index, info, AccessKind::Rmw).0;
            if order.acquires() || order.releases() {
                let site = self.site(index, What::empty_fence(order, info, number), &insn);
                self.pend(index, Pending::LostFence, Op::Fence { order }, site, 0);
            } else {
                self.threads[index].fences += 1;
            }
            return Ok(());
        }
        self.threads[index].fences = 0;
        if insn.effect.waits {
            self.machine.hint(self.threads[index].id);
        }
        if super::scan::asks(insn.word) {
            return self.answer(index, insn.word);
        }
        if insn.sequence.as_ref().is_some_and(|it| !it.is_one_place(&self.threads[index].regs)) {
            let what = "an exclusive store to another address than its load's";
            return Err(EngineError::Unsupported(format!("{}: {what}", self.place_of(index))));
        }
        let accesses = self.accesses(index, &insn)?;
        if !accesses.parts.is_empty() && !accesses.faults {
            let Accesses { parts, told, .. } = accesses;
            if told.iter().any(|it| it.store)
                || insn.effect.writes.iter().any(|reg| (32..64).contains(&reg.0))
            {
                self.new_state(index);
            }
            self.threads[index].flight = Some(Flight::new(insn, parts, told));
            self.pend_part(index);
            return Ok(());
        }
        if let Some(order) = self.fence_order(index, &insn) {
            let site = self.site(index, What::fence(order, insn.fence.as_ref(), Arch::Aarch64), &insn);
            self.pend(index, Pending::Fence, Op::Fence { order }, site, 0);
            return Ok(());
        }
        if !accesses.told.is_empty() {
            // Under PSO and PSLO what is told goes to memory directly.
            self.flush(index)?;
        }
        if insn.effect.writes.iter().any(|reg| (32..64).contains(&reg.0)) {
            self.new_state(index);
        }
        self.written_before(index, &accesses.told);
        let thread = &mut self.threads[index];
        thread.must_fault = accesses.faults;
        thread.told = if accesses.faults { Vec::new() } else { accesses.told };
        thread.slot = Some(Slot::Exec);
        Ok(())
    }

    fn insn(&mut self, index: usize) -> Result<Rc<Insn>, EngineError> {
        let number = self.threads[index].gate;
        let engine = &mut *self.engine;
        let gate = &engine.files.gates[number];
        let binary = &engine.files.copies[gate.file].binary;
        engine.code.at(number, gate, binary, engine.options.model)
    }

    /// The fence that an instruction is to the model, if it is one.
    fn fence_order(&self, index: usize, insn: &Insn) -> Option<Order> {
        let order = match (&insn.fence, insn.effect.fence) {
            (Some(info), _) => self.order_of(index, info, AccessKind::Rmw).0,
            (None, Some(fence)) => fence.order,
            (None, None) => return None,
        };
        (order.acquires() || order.releases()).then_some(order)
    }

    /// The counter and random numbers: the engine says what they give.
    fn answer(&mut self, index: usize, word: u32) -> Result<(), EngineError> {
        if matches!(word & !31, 0xd53b_2400 | 0xd53b_2420) {
            return Err(EngineError::Unsupported(format!("{}: random numbers (RNDR)", self.place_of(index))));
        }
        let value = self.course.clock.counter();
        let thread = &mut self.threads[index];
        thread.regs.set_x(word & 31, value);
        thread.dirty = true;
        thread.slot = Some(Slot::Skip);
        self.new_state(index);
        Ok(())
    }

    /// The accesses that the instruction would make.
    fn accesses(&mut self, index: usize, insn: &Insn) -> Result<Accesses, EngineError> {
        let mut found = Accesses::default();
        let mut concrete = Vec::new();
        for (number, access) in insn.effect.accesses.iter().enumerate() {
            concrete.clear();
            access.resolve_into(&self.threads[index].regs, &mut concrete);
            for it in &mut concrete {
                it.addr &= ADDRESS;
                if it.kind == AccessKind::Load && self.is_patched(it.addr, it.len) {
                    let what = "a program that looks at its own code, where that is patched";
                    return Err(EngineError::Unsupported(format!("{}: {what}", self.place_of(index))));
                }
                if self.course.aliases.contain(it.addr, it.len) {
                    return Err(EngineError::Unsupported(format!("{}: {ALIAS}", self.place_of(index))));
                }
                self.sort(index, insn, number, it, &mut found);
            }
        }
        Ok(found)
    }

    /// Whether some of these bytes are branches of ours.
    fn is_patched(&self, addr: u64, len: u64) -> bool {
        let Some(module) = self.modules.iter().find(|module| module.contains(addr)) else { return false };
        let copies = &self.engine.files.copies;
        let copy = copies.iter().find(|copy| copy.path == module.binary.path);
        copy.is_some_and(|copy| copy.differs(module.offset(addr), len))
    }

    /// Puts one access where it belongs.
    fn sort(&mut self, index: usize, insn: &Insn, number: usize, it: &Concrete, found: &mut Accesses) {
        let (role, from) = self.role(index, insn, number, it);
        let pc = self.threads[index].regs.pc;
        let order = match role {
            Role::Private => return,
            Role::Plain => Order::Na,
            Role::Operation { order, .. } => order,
        };
        let atomic = atomicity(insn, number);
        let standing =
            insn.orders.get(number).map_or(Standing::Known, |info| Standing::of(info, Arch::Aarch64));
        let meant = insn.orders.get(number).map_or(Meant::Same, |info| info.meant);
        let kind = as_meant(it, meant);
        let (loads, stores) = match kind {
            AccessKind::Load => (true, false),
            AccessKind::Store => (false, true),
            AccessKind::Rmw | AccessKind::LoadStore => (true, true),
        };
        let Role::Operation { failure, .. } = role else {
            for store in [false, true].into_iter().filter(|&store| if store { stores } else { loads }) {
                let op = if store { "store" } else { "load" };
                let site = self.site(index, What::access(op, (order, from), atomic, standing), insn);
                found.told.push(Told { pc, site, addr: it.addr, len: it.len, store, private: false });
            }
            return;
        };
        let last = it.addr.saturating_add(it.len - 1);
        let mut byte = [0];
        let mut fits =
            |at: u64| if stores { self.memory.may_write(at) } else { self.memory.read(at, &mut byte) };
        if !fits(it.addr) || it.addr >> 12 != last >> 12 && !fits(last) {
            found.faults = true;
            return;
        }
        let site =
            self.site(index, What::access(op_name(kind, meant), (order, from), atomic, standing), insn);
        let mut from_addr = it.addr;
        let end = it.addr + it.len;
        while from_addr < end {
            let width = if it.len <= 16 { it.len } else { (16 - from_addr % 16).min(end - from_addr) };
            let at = Place::new(Addr(from_addr), width as u8);
            let part = |kind, order| Part { kind, at, order, failure, site, barrier: false, value: None };
            match kind {
                AccessKind::Load => found.parts.push(part(PartKind::Load, of_load(order))),
                AccessKind::Store => found.parts.push(part(PartKind::Store, of_store(order))),
                AccessKind::LoadStore => {
                    found.parts.push(part(PartKind::Load, of_load(order)));
                    found.parts.push(part(PartKind::Store, of_store(order)));
                }
                AccessKind::Rmw => {
                    let expected = self.expected(index, insn, width as u32);
                    let kind = match expected.filter(|_| it.kind == AccessKind::Rmw) {
                        Some(expected) => PartKind::Cas { expected, weak: insn.is_weak() },
                        None => PartKind::Rmw,
                    };
                    found.parts.push(part(kind, order));
                }
            }
            from_addr += width;
        }
    }

    /// What a compare-and-swap compares with; `None`: it is no such.
    fn expected(&self, index: usize, insn: &Insn, width: u32) -> Option<Value> {
        let regs = &self.threads[index].regs;
        let cut =
            |value: u128, bytes: u32| if bytes >= 16 { value } else { value & ((1 << (bytes * 8)) - 1) };
        if let Some(sequence) = &insn.sequence {
            let SequenceKind::Cas(expected) = &sequence.kind else { return None };
            let values = expected.iter().map(|it| match *it {
                Expected::Constant(value) => value,
                Expected::Register(reg) => regs.general(reg),
            });
            let each = width / expected.len() as u32;
            return Some(
                values.rev().fold(0, |all, value| (all << ((each * 8) % 128)) | cut(u128::from(value), each)),
            );
        }
        let access = insn.effect.accesses.first()?;
        if !access.conditional {
            return None;
        }
        // CAS: Rs; CASP: Rs and the next one.
        let first = insn.word >> 16 & 31;
        if insn.word & 0xbfa0_7c00 == 0x0820_7c00 {
            let each = width / 2;
            let high = cut(u128::from(regs.x(first + 1)), each);
            return Some(cut(u128::from(regs.x(first)), each) | high << (each * 8));
        }
        Some(cut(u128::from(regs.x(first)), width))
    }

    /// What the model has to do with an access, and who says so.
    fn role(&mut self, index: usize, insn: &Insn, number: usize, it: &Concrete) -> (Role, Source) {
        let own = self.threads[index].owns(it.addr, it.len);
        // Pointers that the dynamic linker fills in, at any time, are its own affair.
        if it.kind == AccessKind::Load && self.modules.iter().any(|module| module.is_linkage(it.addr)) {
            return (Role::Private, Source::Isa);
        }
        if !self.engine.options.is_c11() {
            return (self.hardware_role(index, it, own), Source::Isa);
        }
        let Some(info) = insn.orders.get(number) else { return (Role::Plain, Source::Policy) };
        let unsure_is_plain = self.engine.options.unsure_is_plain;
        if it.kind != AccessKind::Rmw {
            match info.atomic {
                Atomic::No => return (Role::Plain, info.from),
                Atomic::Unsure if unsure_is_plain || it.len > DECIDED => return (Role::Plain, info.from),
                Atomic::Yes if it.len > DECIDED => return (Role::Plain, info.from),
                Atomic::Yes | Atomic::Unsure => {}
            }
        }
        if let Some(runtime) = &info.runtime
            && !self.with_context(index, |context| runtime.is_own(context, it.addr))
            && it.kind != AccessKind::Rmw
        {
            return (Role::Plain, info.from);
        }
        // In an outline atomic the caller's source tells more than the instruction.
        if let Some((function, _)) = insn.outline {
            let call = self.threads[index].regs.x(30).wrapping_sub(4);
            let engine = &mut *self.engine;
            if let Some(module) = self.modules.iter().find(|module| module.contains(call))
                && let Some(info) = engine.code.of_call(&module.binary, module.offset(call), function)
            {
                let (order, failure) = self.order_of(index, &info, it.kind);
                return (Role::Operation { order, failure }, info.from);
            }
        }
        let (order, failure) = self.order_of(index, info, it.kind);
        (Role::Operation { order, failure }, info.from)
    }

    /// Under the other models every access that others may see is an operation, as strong as its instruction says.
    fn hardware_role(&mut self, index: usize, it: &Concrete, own: bool) -> Role {
        let granules = it.addr >> 3..=it.addr.saturating_add(it.len.max(1) - 1) >> 3;
        let mut private = false;
        if own {
            private = !granules.take(8).any(|granule| self.shared.contains(&granule));
        } else if self.threads.iter().any(|other| other.stack.contains(&it.addr)) {
            let before = self.shared.len();
            self.shared.extend(granules.take(512));
            if self.shared.len() > before {
                // The owner has written there unseen: who reads it knows all that the owner had done by then.
                let site = self.site_here(index, What::call("shares"));
                self.machine.acquire(self.threads[index].id, it.addr, site);
            }
        }
        match it.kind {
            AccessKind::Rmw => Role::Operation { order: Order::SeqCst, failure: Order::SeqCst },
            _ if private => Role::Private,
            _ if it.len > DECIDED => Role::Plain,
            _ if it.atomic && it.order != Order::Relaxed => {
                Role::Operation { order: Order::SeqCst, failure: Order::SeqCst }
            }
            _ => Role::Operation { order: Order::Relaxed, failure: Order::Relaxed },
        }
    }

    /// An order and that of failure, evaluated now if it lives in a variable.
    fn order_of(&self, index: usize, info: &OrderInfo, kind: AccessKind) -> (Order, Order) {
        // An order that was meant, and is not to be found.
        let policy = || match self.engine.options.assume {
            Assume::Isa => Order::SeqCst,
            assume => assume.order(kind),
        };
        let (order, failure) = match (&info.runtime, info.order) {
            (Some(runtime), _) => match self.with_context(index, |context| runtime.evaluate(context)) {
                Ok((order, failure)) => (order, failure),
                Err(_) => (policy(), None),
            },
            (None, order) => (order.unwrap_or_else(policy), info.failure),
        };
        let order = if order == Order::Na { Order::Relaxed } else { order };
        (order, of_load(failure.unwrap_or(order)))
    }

    fn with_context<T>(&self, index: usize, ask: impl FnOnce(&orders::Thread<'_>) -> T) -> T {
        let regs = &self.threads[index].regs;
        let module = self.modules.iter().find(|module| module.contains(regs.pc));
        let read = |addr: u64, buffer: &mut [u8]| self.memory.read(addr, buffer);
        ask(&orders::Thread {
            arch: Arch::Aarch64,
            registers: regs,
            read: &read,
            bias: module.map_or(0, |module| module.bias),
        })
    }

    fn site(&mut self, index: usize, what: What, insn: &Insn) -> Site {
        let (pc, stack) = self.here(index);
        self.engine.sites.site(pc, stack, what, &self.modules, || insn.text.clone())
    }

    /// Tells the machine of accesses that have been made.
    pub(super) fn tell(&mut self, index: usize, told: &[Told]) {
        let id = self.threads[index].id;
        for it in told {
            self.machine.plain(id, it.site, Addr(it.addr), it.len, it.store, &mut &self.memory);
        }
    }

    /// The thread has come to another gate: what it did on the way is told.
    pub(super) fn tell_passed(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        let (told, before) = (std::mem::take(&mut thread.told), std::mem::take(&mut thread.before));
        for (addr, old) in before {
            let new = self.memory.read_some(addr, old.len());
            let hash =
                |bytes: &[u8]| bytes.iter().fold(mix(addr, 1), |hash, &byte| mix(hash, u64::from(byte)));
            if old != new {
                self.threads[index].written ^= hash(&old) ^ hash(&new);
            }
        }
        self.tell(index, &told);
    }

    /// What the thread is about to overwrite, for the hash of what it has written.
    fn written_before(&mut self, index: usize, told: &[Told]) {
        if told.iter().any(|it| it.store && it.len > DECIDED) {
            self.new_state(index);
        }
        // What is on its stack is looked at anyway.
        let top = self.threads[index].top;
        let own = self.threads[index].regs.sp()..top;
        let stores = told.iter().filter(|it| it.store && it.len <= DECIDED && !own.contains(&it.addr));
        self.threads[index].before =
            stores.map(|it| (it.addr, self.memory.read_some(it.addr, it.len as usize))).collect();
    }

    /// A fingerprint of what decides what the thread does next; 0 if there is too much of that.
    fn state(&mut self, index: usize) -> u64 {
        let thread = &mut self.threads[index];
        let depth = thread.top.saturating_sub(thread.regs.sp());
        if depth == 0 || depth > DEEPEST {
            return 0;
        }
        let known = thread.on_stack.len() as u64;
        if known < depth {
            let more = self.memory.read_some(thread.regs.sp() + known, (depth - known) as usize);
            thread.on_stack.extend(more);
        }
        let stack = thread.on_stack[..(depth as usize).min(thread.on_stack.len())].chunks(8);
        let words = stack.map(|bytes| bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)));
        thread.regs.state().chain(words).fold(thread.written, mix) | 1
    }

    /// The thread stops before the next part of its instruction.
    fn pend_part(&mut self, index: usize) {
        let state = self.state(index);
        let flight = self.threads[index].flight.as_ref().expect("an instruction is under way");
        let part = &flight.parts[flight.next];
        let (op, site) = (part.op(), part.site);
        self.pend(index, Pending::Part, op, site, state);
    }

    fn part(&mut self, index: usize) -> &mut Part {
        self.threads[index].flight.as_mut().expect("an instruction is under way").part()
    }

    /// Performs the part that the thread has stopped before.
    pub(super) fn perform_part(&mut self, index: usize, how: How) -> Result<(), EngineError> {
        let id = self.threads[index].id;
        if self.signal_first(index) {
            self.machine.faulted(id);
            return Ok(());
        }
        let Part { kind, at, .. } = *self.part(index);
        let (mut read, mut written) = (0, 0);
        if kind != PartKind::Store {
            read = how.read.unwrap_or_else(|| self.memory.value(at));
            self.part(index).value = Some(read);
        }
        let flight = self.threads[index].flight.as_ref().expect("an instruction is under way");
        let last = flight.next + 1 == flight.parts.len();
        let (must_run, executed) = (kind != PartKind::Load || last, flight.executed);
        let writes = match kind {
            PartKind::Load => false,
            PartKind::Cas { .. } => how.succeeds,
            PartKind::Store | PartKind::Rmw => true,
        };
        if must_run && !executed && !self.emulate(index) && !self.execute(index)? {
            // It faulted: nothing has happened.
            self.machine.faulted(id);
            self.threads[index].flight = None;
            return Ok(());
        }
        if let PartKind::Cas { expected, .. } = kind
            && read == expected
            && !how.succeeds
        {
            self.fail_exclusive(index);
        }
        if writes {
            written = match kind {
                PartKind::Store => self.part(index).value.unwrap_or(0),
                _ => self.threads[index].flight.as_ref().and_then(|flight| flight.updated).unwrap_or(0),
            };
            if !how.hold {
                self.memory.set_value(at, written)?;
            }
        }
        self.retired(id, read, written)?;
        let flight = self.threads[index].flight.as_mut().expect("an instruction is under way");
        flight.next += 1;
        if flight.next < flight.parts.len() {
            self.pend_part(index);
            return Ok(());
        }
        let flight = self.threads[index].flight.take().expect("an instruction is under way");
        self.tell(index, &flight.told);
        Ok(())
    }

    /// The store of a sequence that has run fails for no reason: so its status says, and memory is as it was anyway.
    fn fail_exclusive(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        let flight = thread.flight.as_ref().expect("an instruction is under way");
        if let Some(sequence) = &flight.insn.sequence {
            let status = sequence.status();
            thread.regs.set_x(status, 1);
            thread.dirty = true;
        }
    }

    /// Signals that have waited for its instruction are sent again.
    pub(super) fn send_held(&self, index: usize) {
        let thread = &self.threads[index];
        for &(signal, _) in &thread.held {
            ptrace::send(self.process, thread.tid, signal);
        }
    }

    /// A load into, or a store from, one general register: done without running it.
    fn emulate(&mut self, index: usize) -> bool {
        let thread = &mut self.threads[index];
        let flight = thread.flight.as_mut().expect("an instruction is under way");
        let [access] = flight.insn.effect.accesses[..] else { return false };
        let [part] = &mut flight.parts[..] else { return false };
        let word = flight.insn.word;
        // Unscaled, register, immediate; LDAPR; LDAR and STLR; LDAPUR and STLUR. General registers only.
        let usual = word & 0x3e00_0000 == 0x3800_0000 && access.kind != AccessKind::Rmw;
        let ordered = word & 0x3fa0_0000 == 0x0880_0000 || word & 0x3f20_0c00 == 0x1900_0000;
        if !(usual || ordered) || !flight.told.is_empty() {
            return false;
        }
        let base = access.address.base;
        let moved = match access.address.writeback {
            Some(_) if base == Some(regs::SP) => return false,
            Some(Writeback::By(by)) => Some(by),
            Some(Writeback::ByReg(_)) => return false,
            None => None,
        };
        let bits = u32::from(part.at.width) * 8;
        match part.kind {
            PartKind::Load => {
                let value = part.value.unwrap_or(0) as u64;
                let unused = 64 - bits;
                let is_ldapr = word & 0x3fff_fc00 == 0x38bf_c000;
                let signed = !is_ldapr && word & 0x3f00_0000 != 0x0800_0000 && word >> 23 & 1 == 1;
                let value = match (signed, word >> 22 & 1) {
                    (false, _) => value,
                    (true, 0) => ((value << unused).cast_signed() >> unused).cast_unsigned(),
                    (true, _) => u64::from(((value << unused).cast_signed() >> unused) as u32),
                };
                thread.regs.set_x(word & 31, value);
            }
            PartKind::Store => {
                let value = u128::from(thread.regs.x(word & 31));
                part.value = Some(value & ((1 << bits) - 1));
            }
            PartKind::Rmw | PartKind::Cas { .. } => return false,
        }
        if let (Some(by), Some(base)) = (moved, base) {
            let value = thread.regs.x(u32::from(base.0)).wrapping_add_signed(by);
            thread.regs.set_x(u32::from(base.0), value);
        }
        flight.executed = true;
        thread.dirty = true;
        thread.slot = Some(Slot::Skip);
        true
    }

    /// Runs the instruction of the parts to the gate behind it, with the values that its loads are to read. Afterwards
    /// memory is as it was; what the instruction wrote is in its parts. False if it faulted.
    fn execute(&mut self, index: usize) -> Result<bool, EngineError> {
        let flight = self.threads[index].flight.as_ref().expect("an instruction is under way");
        let before = flight.prepare(&self.memory)?;
        let number = self.threads[index].gate;
        self.threads[index].slot = Some(Slot::Post);
        self.threads[index].executing = true;
        self.resume(index)?;
        self.threads[index].executing = false;
        self.send_held(index);
        let thread = &self.threads[index];
        let (gates, at) = (&self.engine.files.gates, self.threads[index].gate);
        let arrived = thread.mode == Mode::Running
            && matches!(gates[at].kind, super::patch::Kind::Post)
            && (gates[at].file, gates[at].at) == (gates[number].file, gates[number].at);
        if self.course.end.is_some() {
            return Ok(false);
        }
        let wrote = before.put_back(&self.memory)?;
        if !arrived {
            return Ok(false);
        }
        let thread = &mut self.threads[index];
        // It has been dealt with: on behind it.
        thread.slot = Some(Slot::Exec);
        let flight = thread.flight.as_mut().expect("an instruction is under way");
        flight.ran(&wrote);
        Ok(true)
    }
}
