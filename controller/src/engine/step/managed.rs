//! Managed code: what a thread does next under the model's eyes.

use super::ahead::Ahead;
use super::code::{Asks, Insn, Role, atomicity};
use super::flow::Transfer;
use super::registers::View;
use super::run::{Run, at, mix};
use super::sites::What;
use super::thread::{Flight, Mode, Part, PartKind, Pending, Tail, Told};
use crate::engine::EngineError;
use crate::engine::aliases::ALIAS;
use crate::engine::evidence::Standing;
use crate::engine::execution::Execution as _;
use crate::engine::flight::{as_meant, of_load, of_store, op_name};
use crate::engine::thread;
use crate::os::ptrace::{Regs, Resume, Stop};
use std::rc::Rc;
use wmtrace_decoder::effect::{AccessKind, Arch, Concrete, Flow};
use wmtrace_decoder::orders::{self, Assume, Atomic, Meant, OrderInfo, Source};
use wmtrace_decoder::x86::regs::{RFLAGS, RSP};
use wmtrace_model::op::{Addr, Op, Place, Site};
use wmtrace_model::order::Order;
use wmtrace_model::strategy::Strategy;

/// The most instructions of a stretch.
const LONGEST: usize = 64;

/// The most bytes of an access that the model decides on; longer ones (string instructions) are told.
const DECIDED: u64 = 64;

/// The most parts of its own stack of which it is remembered that a thread has read them.
const MAX_LOOKED: usize = 64;

/// The accesses of one instruction, by what the model has to do with them.
#[derive(Default)]
pub(super) struct Accesses {
    parts: Vec<Part>,
    pub(super) told: Vec<Told>,
    /// Stores that nobody else can see: only the thread itself may find them again.
    quiet: Vec<(u64, u64)>,
    /// It looks at code, where the sea is.
    pub(super) code: Vec<(u64, u64)>,
    /// Some of it is not mapped: it will fault.
    pub(super) faults: bool,
}

impl<S: Strategy> Run<'_, S> {
    /// The thread is at a managed instruction, and goes on to the next one, or as far as no event is.
    pub(super) fn managed(&mut self, index: usize) -> Result<(), EngineError> {
        let pc = self.threads[index].regs.rip;
        let insn = self.insn(pc)?;
        self.threads[index].last_pc = pc;
        self.course.steps += 1;
        if insn.switches {
            self.threads[index].switches_stack();
        }
        if let Some(order) = insn.uncertain {
            let site = self.site(index, pc, What::assumed_fence(order), &insn);
            self.machine.maybe_fence(self.threads[index].id, order, site);
        }
        let number = self.threads[index].fences;
        if let Some(info) = insn.before.get(number) {
            let order = self.order_of(index, info, AccessKind::Rmw).0;
            let what = What::empty_fence(order, info, number);
            if info.strengthened.is_some() {
                // It may not be there: no event, and no point at which threads are scheduled.
                let site = self.site(index, pc, what, &insn);
                self.machine.maybe_fence(self.threads[index].id, order, site);
                self.threads[index].fences += 1;
            } else if order.acquires() || order.releases() {
                let site = self.site(index, pc, what, &insn);
                self.pend(index, Pending::LostFence, Op::Fence { order }, site, 0);
            } else {
                self.threads[index].fences += 1;
            }
            return Ok(());
        }
        if insn.effect.waits {
            self.machine.hint(self.threads[index].id);
            self.paused(index);
        }
        if let Some(asks) = insn.asks {
            return self.answer(index, &insn, asks);
        }
        let accesses = self.accesses(index, &insn, &self.threads[index].regs.clone())?;
        if !accesses.parts.is_empty() && !accesses.faults {
            let Accesses { mut parts, told, quiet, .. } = accesses;
            if insn.transfer.is_some_and(Transfer::is_call) {
                let address = pc + u64::from(insn.effect.len);
                let pushes = parts.iter_mut().filter(|part| part.kind == PartKind::Store);
                pushes.for_each(|part| part.value = Some(address.into()));
            }
            if !quiet.is_empty() || told.iter().any(|it| it.store) {
                self.new_state(index);
            }
            self.threads[index].flight =
                Some(Flight { insn, parts, told, next: 0, executed: false, updated: None });
            self.pend_part(index);
            return Ok(());
        }
        if let Some(order) = self.fence_order(index, &insn) {
            let site = self.site(index, pc, What::fence(order, insn.fence.as_ref(), Arch::X86_64), &insn);
            self.pend(index, Pending::Fence, Op::Fence { order }, site, 0);
            return Ok(());
        }
        if let Some(transfer) = insn.transfer {
            return self.follow(index, &insn, transfer, &accesses.told, None);
        }
        if insn.effect.flow != Flow::Next {
            if insn.effect.flow == Flow::Syscall && self.drains(index) {
                return Ok(());
            }
            return self.alone(index, &insn, &accesses);
        }
        if self.does(index, &insn, &accesses)? {
            return Ok(());
        }
        self.stretch(index, &insn, accesses)
    }

    pub(super) fn insn(&mut self, pc: u64) -> Result<Rc<Insn>, EngineError> {
        self.engine.code.at(pc, &self.sea, &self.modules, self.engine.options.model)
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

    /// RDRAND and RDPID: the engine says what they give.
    fn answer(&mut self, index: usize, insn: &Insn, asks: Asks) -> Result<(), EngineError> {
        let value = match asks {
            Asks::Random => self.course.clock.random(),
            Asks::Cpu => 0,
        };
        let written = insn.effect.writes.iter().find(|reg| reg.0 < 16 && *reg != RSP);
        let thread = &mut self.threads[index];
        if let Some(reg) = written {
            *gpr_mut(&mut thread.regs, reg.0) = value;
        }
        if asks == Asks::Random {
            // Carry: there was one. The other arithmetic flags are cleared.
            thread.regs.eflags = thread.regs.eflags & !0x8d5 | 1;
        }
        thread.jump(thread.regs.rip + u64::from(insn.effect.len));
        Ok(())
    }

    /// The accesses that an instruction would make with these registers.
    fn accesses(&mut self, index: usize, insn: &Insn, regs: &Regs) -> Result<Accesses, EngineError> {
        let mut found = Accesses::default();
        if insn.effect.accesses.is_empty() {
            return Ok(found);
        }
        let pc = regs.rip;
        let mut concrete = Vec::new();
        for (number, access) in insn.effect.accesses.iter().enumerate() {
            concrete.clear();
            let view = View::new(regs, self.threads[index].stopped.as_ref());
            access.resolve_into(&view, &mut concrete);
            for it in &concrete {
                if self.course.aliases.contain(it.addr, it.len) {
                    return Err(EngineError::Unsupported(format!("{}: {ALIAS}", self.place_of(pc))));
                }
                self.sort(index, insn, number, it, pc, &mut found);
            }
        }
        Ok(found)
    }

    /// Puts one access where it belongs.
    fn sort(
        &mut self,
        index: usize,
        insn: &Insn,
        number: usize,
        it: &Concrete,
        pc: u64,
        found: &mut Accesses,
    ) {
        if self.sea.covers(it.addr) {
            found.code.push((it.addr, it.addr + it.len));
        }
        let (role, from) = self.role(index, insn, number, it, pc);
        let order = match role {
            Role::Private => {
                if it.kind != AccessKind::Load {
                    found.quiet.push((it.addr, it.len));
                }
                return;
            }
            Role::Plain => Order::Na,
            Role::Operation { order, .. } => order,
        };
        let atomic = atomicity(insn, number);
        let standing =
            insn.orders.get(number).map_or(Standing::Known, |info| Standing::of(info, Arch::X86_64));
        let meant = insn.orders.get(number).map_or(Meant::Same, |info| info.meant);
        let kind = as_meant(it, meant);
        let (loads, stores) = match kind {
            AccessKind::Load => (true, false),
            AccessKind::Store => (false, true),
            AccessKind::Rmw | AccessKind::LoadStore => (true, true),
        };
        let Role::Operation { failure, .. } = role else {
            let private = self.threads[index].owns(it.addr, it.len) && !self.is_shared_stack(it);
            for store in [false, true].into_iter().filter(|&store| if store { stores } else { loads }) {
                let op = if store { "store" } else { "load" };
                let site = self.site(index, pc, What::access(op, (order, from), atomic, standing), insn);
                found.told.push(Told { pc, site, addr: it.addr, len: it.len, store, private });
            }
            return;
        };
        let mut byte = [0];
        let last = it.addr.wrapping_add(it.len - 1);
        if !self.memory.read(it.addr, &mut byte) || !self.memory.read(last, &mut byte) {
            found.faults = true;
            return;
        }
        let what = What::access(op_name(kind, meant), (order, from), atomic, standing);
        let site = self.site(index, pc, what, insn);
        let barrier = insn.orders.get(number).is_some_and(|info| info.barrier);
        let mut from_addr = it.addr;
        let end = it.addr + it.len;
        while from_addr < end {
            // Up to the next multiple of sixteen, unless the access fits as it is.
            let width = if it.len <= 16 { it.len } else { (16 - from_addr % 16).min(end - from_addr) };
            let at = Place::new(Addr(from_addr), width as u8);
            let part = |kind, order| Part { kind, at, order, failure, site, barrier, value: None };
            match kind {
                AccessKind::Load => found.parts.push(part(PartKind::Load, of_load(order))),
                AccessKind::Store => found.parts.push(part(PartKind::Store, of_store(order))),
                AccessKind::LoadStore => {
                    found.parts.push(part(PartKind::Load, of_load(order)));
                    found.parts.push(part(PartKind::Store, of_store(order)));
                }
                AccessKind::Rmw if it.conditional => {
                    let regs = &self.threads[index].regs;
                    let expected = expected(regs, width as u8, insn.double);
                    found.parts.push(part(PartKind::Cas { expected, weak: false }, order));
                }
                AccessKind::Rmw => found.parts.push(part(PartKind::Rmw, order)),
            }
            from_addr += width;
        }
    }

    /// What the model has to do with an access, and who says so.
    fn role(&mut self, index: usize, insn: &Insn, number: usize, it: &Concrete, pc: u64) -> (Role, Source) {
        let own = self.threads[index].owns(it.addr, it.len);
        // Pointers that the dynamic linker fills in, at any time, are its own affair.
        if it.kind == AccessKind::Load && self.modules.iter().any(|module| module.is_linkage(it.addr)) {
            return (Role::Private, Source::Isa);
        }
        let shares = !own && self.shares_stack(index, it, pc);
        let looked = &mut self.threads[index].looked;
        if own && it.kind == AccessKind::Load && looked.len() < MAX_LOOKED {
            looked.extend(granules(it).take(2));
        }
        if !self.engine.options.is_c11() {
            return (self.hardware_role(index, it, own, shares.then_some(pc)), Source::Isa);
        }
        let Some(info) = insn.orders.get(number) else { return (Role::Plain, Source::Policy) };
        // A locked instruction that stands for a fence is one event: the fence.
        if insn.fence.is_some() && own {
            return (Role::Private, info.from);
        }
        // Whether the runtime's accesses to a stack are atomic matters from the moment on when others look at it.
        let own = own && !self.is_shared_stack(it);
        let unsure_is_plain = self.engine.options.unsure_is_plain || own;
        if own && info.atomic == Atomic::Unsure && it.kind != AccessKind::Load {
            self.unsure.extend(granules(it).take(512));
        }
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
        let (order, failure) = self.order_of(index, info, as_meant(it, info.meant));
        (Role::Operation { order, failure }, info.from)
    }

    /// Another thread's stack that a thread touches for the first time is shared from then on. Whether that is so.
    fn shares_stack(&mut self, index: usize, it: &Concrete, pc: u64) -> bool {
        if !self.threads.iter().any(|other| other.stack.contains(&it.addr)) {
            return false;
        }
        let before = self.shared.len();
        self.shared.extend(granules(it).take(512));
        if self.shared.len() == before {
            return false;
        }
        // What the owner has written here may have been atomic, and was taken for plain: who finds it knows all that
        // the owner knew.
        let publishes = self.engine.options.is_c11()
            && granules(it).take(512).any(|granule| self.unsure.contains(&granule));
        let site = publishes.then(|| self.site_of_sharing(index, pc));
        for owner in 0..self.threads.len() {
            let thread::Thread { id, mode, ref stack, .. } = *self.threads[owner];
            if !stack.contains(&it.addr) {
                continue;
            }
            let object = stack.start;
            if mode != Mode::Ended {
                // Until now its state was its own.
                self.machine.disturb(id);
                site.into_iter().for_each(|site| self.machine.release(id, object, site));
            }
            if let Some(site) = site {
                self.machine.acquire(self.threads[index].id, object, site);
            }
        }
        true
    }

    fn site_of_sharing(&mut self, index: usize, pc: u64) -> Site {
        let stack = self.threads[index].calls_made;
        self.engine.sites.site(pc, stack, What::call("shares"), &self.modules, String::new)
    }

    /// The thread ends: who looks at its stack from now on knows what it knew, if it may have meant that.
    pub(super) fn leaves_stack(&mut self, index: usize) {
        let thread::Thread { id, ref stack, .. } = *self.threads[index];
        let object = stack.start;
        if self.engine.options.is_c11() && self.unsure.iter().any(|granule| stack.contains(&(granule << 3))) {
            let site = self.site_here(index, What::call("exit"));
            self.machine.release(id, object, site);
        }
    }

    /// A thread that goes round a loop with a PAUSE in it, looking at nothing but its own stack, waits for another thread
    /// to write there (as in queue locks): what it looks at is shared.
    fn paused(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        if std::mem::replace(&mut thread.paused, true) {
            self.shared.extend(thread.looked.drain(..));
            self.machine.disturb(thread.id);
        }
    }

    fn is_shared_stack(&self, it: &Concrete) -> bool {
        !self.shared.is_empty() && granules(it).take(512).any(|granule| self.shared.contains(&granule))
    }

    /// Under the hardware models every access that others may see is an operation.
    fn hardware_role(&mut self, index: usize, it: &Concrete, own: bool, shares: Option<u64>) -> Role {
        let private = own && !self.is_shared_stack(it);
        if let Some(pc) = shares {
            // The owner has written there unseen: who reads it knows all that the owner had done by then.
            let site = self.site_of_sharing(index, pc);
            self.machine.acquire(self.threads[index].id, it.addr, site);
        }
        match it.kind {
            AccessKind::Rmw => Role::Operation { order: Order::SeqCst, failure: Order::SeqCst },
            _ if private => Role::Private,
            _ if it.len > DECIDED => Role::Plain,
            // Its parts by themselves would look as if they were meant.
            AccessKind::Load if it.len > 16 && self.machine.looks_beyond(Addr(it.addr), it.len, false) => {
                Role::Plain
            }
            _ => Role::Operation { order: Order::Relaxed, failure: Order::Relaxed },
        }
    }

    /// An order and that of failure, evaluated now if it lives in a variable.
    fn order_of(&self, index: usize, info: &OrderInfo, kind: AccessKind) -> (Order, Order) {
        // On x86-64 a load that acquires and one that is seq_cst are the same instruction. Where nobody says which it is,
        // taking it for the weaker one would be a false alarm: store buffering, of a program that rules it out. (A
        // store that is seq_cst is another instruction than one that releases.)
        let policy = || match (self.engine.options.assume, kind) {
            (Assume::Isa | Assume::AcqRel, AccessKind::Load | AccessKind::Rmw) => Order::SeqCst,
            (assume, kind) => assume.order(kind),
        };
        let (order, failure) = match (&info.runtime, info.order) {
            (Some(runtime), _) => match self.with_context(index, |context| runtime.evaluate(context)) {
                Ok((order, failure)) => info.with_strength(order, failure),
                Err(_) => (policy(), None),
            },
            (None, Some(order)) if info.from != Source::Policy => (order, info.failure),
            (None, _) => (policy(), info.failure),
        };
        let order = if order == Order::Na { Order::Relaxed } else { order };
        (order, of_load(failure.unwrap_or(order)))
    }

    fn with_context<T>(&self, index: usize, ask: impl FnOnce(&orders::Thread<'_>) -> T) -> T {
        let thread = &self.threads[index];
        let view = View::new(&thread.regs, thread.stopped.as_ref());
        let module = self.modules.iter().find(|module| module.contains(thread.regs.rip));
        let read = |addr: u64, buffer: &mut [u8]| self.memory.read(addr, buffer);
        ask(&orders::Thread {
            arch: Arch::X86_64,
            registers: &view,
            read: &read,
            bias: module.map_or(0, |module| module.bias),
        })
    }

    fn site(&mut self, index: usize, pc: u64, what: What, insn: &Insn) -> Site {
        let stack = self.threads[index].calls_made;
        self.engine.sites.site(pc, stack, what, &self.modules, || insn.text.clone())
    }

    /// Follows a jump, call or return. `decided` are the accesses that the model has decided on: the load of its target,
    /// and the store of its return address.
    pub(super) fn follow(
        &mut self,
        index: usize,
        insn: &Insn,
        transfer: Transfer,
        told: &[Told],
        decided: Option<&[Part]>,
    ) -> Result<(), EngineError> {
        // A function's pointer that it loads; what a call writes to its own stack concerns nobody.
        let loads: Vec<Told> = told.iter().filter(|it| !it.store).copied().collect();
        self.tell(index, &loads);
        let loaded = decided.and_then(|parts| {
            let load = parts.iter().find(|part| part.kind == PartKind::Load);
            load.and_then(|part| part.value).map(|value| value as u64)
        });
        let pushed = decided.is_some_and(|parts| parts.iter().any(|part| part.kind == PartKind::Store));
        let regs = self.threads[index].regs;
        let next = regs.rip + u64::from(insn.effect.len);
        let mut slot = None;
        let memory = match (transfer, loaded) {
            (_, Some(loaded)) => Some(loaded),
            (Transfer::Return { .. }, None) => self.memory.read_u64(regs.rsp),
            (Transfer::JumpMemory | Transfer::CallMemory, None) => {
                let view = View::new(&regs, None);
                let mut found = Vec::new();
                insn.effect.accesses.iter().for_each(|access| access.resolve_into(&view, &mut found));
                let load = found.iter().find(|it| it.kind == AccessKind::Load);
                slot = load.map(|it| it.addr);
                slot.and_then(|addr| self.memory.read_u64(addr))
            }
            _ => Some(0),
        };
        // What cannot be read faults: let it.
        let Some(memory) = memory else { return self.alone(index, insn, &Accesses::default()) };
        let target = transfer.target(&regs, memory, next);
        if decided.is_none() && !self.sea.covers(target) && self.drains(index) {
            return Ok(());
        }
        if transfer.is_call() {
            let sp = regs.rsp.wrapping_sub(8);
            if !pushed {
                let before = self.written_before(index, &[(sp, 8)]);
                if self.memory.write(sp, &next.to_le_bytes()).is_err() {
                    return self.alone(index, insn, &Accesses::default());
                }
                self.written_after(index, &before);
            }
            let after = self.engine.sites.called(self.threads[index].calls_made, next, &self.modules);
            self.threads[index].regs.rsp = sp;
            self.threads[index].calls(sp, after);
            self.enters_frame(index);
        }
        if let Transfer::Return { pops } = transfer {
            let thread = &mut self.threads[index];
            thread.regs.rsp = regs.rsp.wrapping_add(8 + u64::from(pops));
            thread.unwind();
        }
        self.threads[index].jump(target);
        if std::mem::take(&mut self.threads[index].passes) {
            return Ok(());
        }
        if !insn.stub {
            let jumps = !transfer.is_call() && !matches!(transfer, Transfer::Return { .. });
            let jump = jumps.then_some(Tail { pc: regs.rip, sp: regs.rsp });
            self.threads[index].follows(jump, target, target != next);
        }
        if !self.sea.covers(target) {
            self.leaves(index, slot)?;
        } else if let (Transfer::JumpMemory, Some(slot)) = (transfer, slot) {
            self.leaves_by_linker(index, regs.rip, slot);
        }
        Ok(())
    }

    /// Under PSO and PSLO: a thread that is about to leave managed code stops first if it holds stores back. Others
    /// may run, and its stores become visible in any order, before it does; what is left then, the machine commits.
    fn drains(&mut self, index: usize) -> bool {
        let holds = self.machine.holds(self.threads[index].id);
        if holds {
            let site = self.site_here(index, What::call("leaves"));
            let at = self.own_place(index);
            self.pend(index, Pending::Quantum, Op::Sync { at }, site, 0);
        }
        holds
    }

    /// One instruction that cannot be part of a stretch and is not followed: stepped by the processor.
    fn alone(&mut self, index: usize, insn: &Insn, accesses: &Accesses) -> Result<(), EngineError> {
        let pc = self.threads[index].regs.rip;
        self.surface(pc, u64::from(insn.effect.len), &accesses.code)?;
        let how = if insn.effect.flow == Flow::Syscall { Resume::Free } else { Resume::Step };
        let stop = self.resume(index, how, 0)?;
        self.threads[index].fences = 0;
        let stepped =
            stop == Stop::Signal(libc::SIGTRAP) && how == Resume::Step && self.threads[index].regs.rip != pc;
        self.tell(index, &accesses.told);
        if stop == Stop::Signal(libc::SIGTRAP) && insn.effect.flow == Flow::Trap {
            // The program's own breakpoint: the signal is for the program.
            return self.signalled(index, libc::SIGTRAP);
        }
        if stepped {
            self.threads[index].unwind();
            return Ok(());
        }
        self.dispatch(index, stop)
    }

    pub(super) fn surface(&mut self, pc: u64, len: u64, code: &[(u64, u64)]) -> Result<(), EngineError> {
        for &(start, end) in code {
            self.sea.surface(&self.memory, start, end)?;
        }
        Ok(self.sea.surface(&self.memory, pc, pc + len)?)
    }

    /// Tells the machine of accesses that have been made.
    pub(super) fn tell(&mut self, index: usize, told: &[Told]) {
        self.check_stacks(index, told);
        let id = self.threads[index].id;
        for it in told {
            let memory = &mut &self.memory;
            if it.private {
                self.machine.plain_private(id, it.site, Addr(it.addr), it.len, it.store, memory);
            } else {
                self.machine.plain(id, it.site, Addr(it.addr), it.len, it.store, memory);
            }
        }
    }

    /// Runs instructions from here on as long as none is an event, and addresses can be told in advance.
    fn stretch(&mut self, index: usize, first: &Insn, accesses: Accesses) -> Result<(), EngineError> {
        let start = self.threads[index].regs.rip;
        let mut ahead = Ahead::new(self.threads[index].regs);
        let Accesses { mut told, mut quiet, code, faults, .. } = accesses;
        let mut vectors = writes_vectors(first);
        let mut end = start + u64::from(first.effect.len);
        ahead.run(first, self.sea.bytes(start).unwrap_or_default());
        let mut count = 1;
        while count < LONGEST && code.is_empty() && !faults && self.sea.covers(end) {
            // What is wrong with the next one is found out when a thread is there.
            let Ok(insn) = self.insn(end) else { break };
            if insn.ends_stretch() || insn.switches || !ahead.knows(&insn) {
                break;
            }
            let more = self.accesses(index, &insn, &at(&ahead.regs, end))?;
            if !more.parts.is_empty() || !more.code.is_empty() || more.faults {
                break;
            }
            // The machine is told of all at once, when memory holds what the last has written.
            if more.told.iter().any(|one| told.iter().any(|other| conflict(one, other))) {
                break;
            }
            told.extend(more.told);
            quiet.extend(more.quiet);
            vectors |= writes_vectors(&insn);
            let bytes = self.sea.bytes(end).unwrap_or_default();
            ahead.run(&insn, bytes);
            end += u64::from(insn.effect.len);
            count += 1;
        }
        if !told.is_empty() {
            // Under PSO and PSLO what is told goes to memory directly.
            self.flush(index)?;
        }
        // The first has been counted.
        self.course.steps += count as u64 - 1;
        quiet.extend(told.iter().filter(|it| it.store).map(|it| (it.addr, it.len)));
        let before = self.written_before(index, &quiet);
        self.surface(start, end - start, &code)?;
        self.threads[index].fences = 0;
        let stop = self.resume(index, Resume::Free, 0)?;
        let at = self.threads[index].regs.rip;
        let ended = stop == Stop::Signal(libc::SIGTRAP) && at == end + 1;
        if !ended {
            // It came only as far as this.
            told.retain(|it| it.pc < at || at < start);
        }
        self.written_after(index, &before);
        self.threads[index].new_vectors |= vectors;
        self.tell(index, &told);
        self.threads[index].last_pc = if ended { end - 1 } else { at };
        if ended {
            self.threads[index].jump(end);
            return Ok(());
        }
        self.dispatch(index, stop)
    }

    /// What the stores of a stretch will overwrite, for the hash of what the thread has written.
    fn written_before(&mut self, index: usize, stores: &[(u64, u64)]) -> Vec<(u64, Vec<u8>)> {
        if stores.iter().any(|&(_, len)| len > DECIDED) {
            self.new_state(index);
        }
        let short = stores.iter().filter(|&&(_, len)| len <= DECIDED);
        short.map(|&(addr, len)| (addr, self.memory.read_some(addr, len as usize))).collect()
    }

    fn written_after(&mut self, index: usize, before: &[(u64, Vec<u8>)]) {
        for (addr, old) in before {
            let new = self.memory.read_some(*addr, old.len());
            self.threads[index].rewrites(*addr, old, &new);
        }
    }

    /// A fingerprint of what decides what the thread does next.
    pub(super) fn state(&mut self, index: usize) -> u64 {
        let thread = &mut self.threads[index];
        if std::mem::take(&mut thread.new_vectors) {
            let vectors =
                thread.stopped.as_ref().and_then(|stopped| stopped.xstate().ok()).unwrap_or_default();
            let words = vectors.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
            thread.vectors = words.fold(0, mix);
        }
        let regs = &thread.regs;
        let flags = regs.eflags & 0xcd5;
        let all = [
            regs.rax,
            regs.rbx,
            regs.rcx,
            regs.rdx,
            regs.rsi,
            regs.rdi,
            regs.rbp,
            regs.rsp,
            regs.r8,
            regs.r9,
            regs.r10,
            regs.r11,
            regs.r12,
            regs.r13,
            regs.r14,
            regs.r15,
            regs.rip,
            flags,
            regs.fs_base,
            regs.gs_base,
            thread.vectors,
        ];
        all.into_iter().fold(thread.written, mix) | 1
    }
}

/// What a compare-and-swap compares with.
fn expected(regs: &Regs, width: u8, double: bool) -> u128 {
    if double {
        let half = u32::from(width) * 4;
        let low = u128::from(regs.rax) & ((1 << half) - 1);
        let high = u128::from(regs.rdx) & ((1 << half) - 1);
        return low | high << half;
    }
    u128::from(regs.rax) & ((1 << (u32::from(width) * 8)) - 1)
}

pub(super) fn gpr_mut(regs: &mut Regs, number: u8) -> &mut u64 {
    match number {
        0 => &mut regs.rax,
        1 => &mut regs.rcx,
        2 => &mut regs.rdx,
        3 => &mut regs.rbx,
        4 => &mut regs.rsp,
        5 => &mut regs.rbp,
        6 => &mut regs.rsi,
        7 => &mut regs.rdi,
        8 => &mut regs.r8,
        9 => &mut regs.r9,
        10 => &mut regs.r10,
        11 => &mut regs.r11,
        12 => &mut regs.r12,
        13 => &mut regs.r13,
        14 => &mut regs.r14,
        _ => &mut regs.r15,
    }
}

/// Whether one writes what the other touches.
fn conflict(a: &Told, b: &Told) -> bool {
    (a.store || b.store) && a.addr < b.addr.saturating_add(b.len) && b.addr < a.addr.saturating_add(a.len)
}

/// The granules of an access.
fn granules(it: &Concrete) -> impl Iterator<Item = u64> {
    it.addr >> 3..=it.addr.saturating_add(it.len.max(1) - 1) >> 3
}

/// Whether an instruction changes registers beside the general ones and the flags.
pub(super) fn writes_vectors(insn: &Insn) -> bool {
    insn.effect.writes.iter().any(|reg| reg.0 >= 16 && reg != RFLAGS)
}
