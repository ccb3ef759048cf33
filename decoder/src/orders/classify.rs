//! Atomic, plain or unsure: inside an atomic operation, which access is the operation's own; outside
//! of any, what the variable's type, the symbol and the source text say.

use super::idle::opcode;
use super::info::{Atomic, Meant, OrderInfo, Source};
use super::instance::{Argument, Instance, is_c, is_cpp, is_rust, operation, variable_name, variable_type};
use super::ops::OpKind;
use super::registers::{dwarf_register, stack_pointer};
use super::source::{Call, Statement};
use super::{Chain, Inside, Orders, Role};
use crate::debug::{Shape, Types, Unit, hint};
use crate::effect::{Access, AccessKind, Arch, Flow, InsnEffect, Reg, RegSet};
use crate::text::Language;
use crate::x86;
use wmtrace_model::order::Order;

/// The program counter's number on both architectures.
fn program_counter(arch: Arch) -> Reg {
    match arch {
        Arch::X86_64 => x86::regs::RIP,
        Arch::Aarch64 => crate::aarch64::regs::PC,
    }
}

impl Orders<'_> {
    /// Whether an access goes to the top of the stack: `lock or [rsp], 0` is g++'s fence.
    pub(super) fn on_stack_top(&self, access: &Access) -> bool {
        access.address.base == Some(stack_pointer(self.image.arch())) && access.address.index.is_none()
    }

    /// If an access goes to the frame by the stack or frame pointer: its distance from the CFA, when that is known.
    pub(super) fn frame_place(&self, pc: u64, access: &Access) -> Option<Option<i64>> {
        let base = access.address.base?;
        let cfa = self.debug.cfa(pc);
        let frame = cfa.and_then(|cfa| dwarf_register(self.image.arch(), cfa.register));
        if base != stack_pointer(self.image.arch()) && Some(base) != frame {
            return None;
        }
        let exact = access.address.index.is_none() && Some(base) == frame;
        Some(cfa.filter(|_| exact).map(|cfa| access.address.displacement.wrapping_sub(cfa.offset)))
    }

    /// What an access inside an operation's code is to the operation.
    pub(super) fn role(&self, pc: u64, access: &Access, inside: &Inside<'_>) -> Role {
        let frame = self.frame_place(pc, access);
        let op = inside.ops[0].1;
        let own = match op.kind {
            OpKind::Fence if access.kind == AccessKind::Rmw && self.on_stack_top(access) => {
                return Role::Fence;
            }
            // Whatever else is in a fence's code passes its argument around.
            OpKind::Fence => return if frame.is_some() { Role::Beside } else { Role::Unsure },
            // A function that was inlined into it, and is none of ours, speaks for itself: `atomic<shared_ptr>` takes a
            // lock, copies a pointer and counts references on its way.
            _ if inside.nested && !access.atomic && !is_rust(inside.unit) => {
                let own = frame.flatten().is_some_and(|place| self.in_own_slot(pc, place, access, inside));
                return if own { Role::Beside } else { Role::Another };
            }
            // LLVM makes one instruction of a load, a sum and a store (`inc [x]`), and says that it is one of them.
            OpKind::Load => matches!(access.kind, AccessKind::Load | AccessKind::LoadStore),
            OpKind::Store => matches!(access.kind, AccessKind::Store | AccessKind::LoadStore),
            OpKind::Cas if access.atomic => return Role::Itself,
            OpKind::Cas if inside.nested && frame.is_none() => return Role::Another,
            // What is not atomic by its instruction is the expected value, in memory of its own.
            OpKind::Cas => return Role::Beside,
            OpKind::Rmw if self.is_idle_barrier(pc, access, inside) => return Role::Fence,
            // LLVM makes a load of a read-modify-write that changes nothing.
            OpKind::Rmw => access.kind == AccessKind::Load && self.idle(inside).loads,
        };
        match (own || access.atomic, frame) {
            (true, None) if access.atomic => Role::Itself,
            (true, None) if self.in_got(pc, access) => Role::Beside,
            (true, None) if self.other_width(access, inside) || self.around(pc, access, inside) => {
                Role::Unsure
            }
            // One of several that it may be.
            (true, None) if self.has_rival(pc, access, inside) => Role::Maybe,
            (true, None) => Role::Itself,
            (true, Some(place)) => self.role_in_frame(pc, place, access, inside),
            (false, Some(_)) => Role::Beside,
            // The first load of a compare-and-swap loop that a fetch-and-modify became.
            (false, None) => Role::Unsure,
        }
    }

    /// Whether an instruction of the same operation may be the operation just as well: one of the same kind at another
    /// address. Compilers move other accesses into the code of an operation, and debug information takes them for it.
    fn has_rival(&self, pc: u64, access: &Access, inside: &Inside<'_>) -> bool {
        let outermost = inside.ops[inside.ops.len() - 1].0;
        // A function of its own has nothing in it but the operation, and what is beside it.
        if !inside.unit.nodes[outermost as usize].inlined() {
            return false;
        }
        let ranges = &inside.unit.nodes[outermost as usize].ranges;
        let own = self.static_address(pc, access);
        let mut rival = false;
        self.look(ranges, &mut |at, effect| {
            rival |= at != pc
                && effect.accesses.iter().any(|other| {
                    // Copies of the operation may use other registers: only a variable with a fixed place is another one.
                    (other.kind == access.kind || other.atomic)
                        && self.static_address(at, other) != own
                        && self.frame_place(at, other).is_none()
                        && !self.pushes(other, effect)
                });
        });
        rival
    }

    /// Whether the linker's table of addresses is read: the dynamic linker writes it before any thread begins. (Not so
    /// `.got.plt`, which it fills when a function is first called.)
    fn in_got(&self, pc: u64, access: &Access) -> bool {
        let addr = self.static_address(pc, access);
        let range = self.image.section_range(".got");
        let within =
            |(addr, (start, size)): (u64, (u64, u64))| addr.checked_sub(start).is_some_and(|at| at < size);
        access.kind == AccessKind::Load && addr.zip(range).is_some_and(within)
    }

    /// Whether an access of unoptimised code does not look like the operation's own: the pointer to the object has
    /// a place in memory, so the operation loads it and goes exactly where it points. A table of jumps is indexed,
    /// and `atomic_ref`, whose pointer must be loaded first, leaves the operation to another function (libstdc++).
    fn around(&self, pc: u64, access: &Access, inside: &Inside<'_>) -> bool {
        let cfa = self.debug.cfa(pc);
        let &(node, op) = &inside.ops[0];
        let instance = Instance { debug: self.debug, unit: inside.unit, node, op, pc, cfa };
        match instance.object() {
            Argument::Runtime(object) if object.frame_slot().is_some() => {
                let address = &access.address;
                op.indirect || address.index.is_some() || address.displacement != 0
            }
            _ => false,
        }
    }

    /// An access to the frame inside an operation: to the object itself, if that is a local variable, or to a
    /// parameter or a spilled value.
    fn role_in_frame(&self, pc: u64, place: Option<i64>, access: &Access, inside: &Inside<'_>) -> Role {
        let cfa = self.debug.cfa(pc);
        for &(node, op) in &inside.ops {
            let instance = Instance { debug: self.debug, unit: inside.unit, node, op, pc, cfa };
            return match instance.object() {
                Argument::Runtime(lookup) => match (lookup.frame_offset(), place) {
                    (Some(object), Some(place)) if object == place => Role::Itself,
                    (Some(_), Some(_)) => Role::Beside,
                    (Some(_), None) => Role::Itself,
                    (None, _) if lookup.in_memory() && !access.atomic => {
                        self.role_beside_slot(pc, lookup.frame_slot(), place, access, inside)
                    }
                    // g++ knows that the pointer in a register is that of a local object, and uses the frame. If it
                    // is a spilled value after all, nobody else touches it, and its order orders nothing.
                    (None, _) => self.role_of_slot(pc, place, access, inside),
                },
                Argument::Known(_) | Argument::Contradictory(_) => Role::Unsure,
                Argument::Lost => continue,
            };
        }
        self.role_of_slot(pc, place, access, inside)
    }

    /// An access to the frame, where the object's address lies in the frame, too: of that address, or of the object
    /// itself, if that is a local variable and the compiler knows where it is.
    fn role_beside_slot(
        &self,
        pc: u64,
        slot: Option<i64>,
        place: Option<i64>,
        access: &Access,
        inside: &Inside<'_>,
    ) -> Role {
        // The frame of an operation that is a function of its own has no objects of others.
        let outermost = inside.ops[inside.ops.len() - 1].0;
        if !inside.unit.nodes[outermost as usize].inlined() {
            return Role::Beside;
        }
        match slot.zip(place) {
            Some((slot, place)) if (slot..slot.saturating_add(8)).contains(&place) => Role::Beside,
            Some(_) if self.has_width(access, inside) => self.role_of_slot(pc, place, access, inside),
            _ => match self.role_of_slot(pc, place, access, inside) {
                Role::Itself => Role::Maybe,
                role => role,
            },
        }
    }

    /// An access to the frame, where nothing is known of the object's address: g++ -O0 leaves out `this` where it
    /// knows the object.
    fn role_of_slot(&self, pc: u64, place: Option<i64>, access: &Access, inside: &Inside<'_>) -> Role {
        let own = place.is_some_and(|place| self.in_own_slot(pc, place, access, inside));
        match access.atomic {
            true => Role::Itself,
            false if own || self.other_width(access, inside) => Role::Beside,
            // A local object, or the pointer to another one that was spilled.
            false if self.is_bare(inside) => Role::Maybe,
            false => Role::Itself,
        }
    }

    /// Whether an access is a push, a pop, or that of a return address: to a part of the stack that has no name, and
    /// so is no object's.
    pub(super) fn pushes(&self, access: &Access, effect: &InsnEffect) -> bool {
        let stack = stack_pointer(self.image.arch());
        !access.atomic
            && access.address.base == Some(stack)
            && access.address.index.is_none()
            && effect.writes.contains(stack)
    }

    /// An access outside of any known atomic operation.
    pub(super) fn outside(&self, pc: u64, access: &Access, place: Option<&Chain<'_>>) -> OrderInfo {
        let addr = self.static_address(pc, access);
        if let Some(addr) = addr
            && self.image.symbol_at(addr).is_some_and(|symbol| symbol.name.starts_with("_ZGV"))
        {
            // The guard of a static variable: the compiler loads it with acquire (Itanium C++ ABI §3.3.3).
            return match access.kind {
                AccessKind::Load => OrderInfo::new(Order::Acquire, Source::Isa, Atomic::Yes),
                AccessKind::Store | AccessKind::LoadStore => {
                    OrderInfo::new(Order::Release, Source::Isa, Atomic::Yes)
                }
                AccessKind::Rmw => self.lost(access),
            };
        }
        if !access.atomic && self.in_got(pc, access) {
            return OrderInfo::plain(Source::Isa);
        }
        // A counter of how often code runs is the compiler's, whatever line the code is in.
        let counts = |name: &str| COUNTERS.iter().any(|start| name.starts_with(start));
        if addr.and_then(|addr| self.image.symbol_at(addr)).is_some_and(|symbol| counts(&symbol.name)) {
            return self.unsure(access);
        }
        let Some((unit, chain)) = place else {
            return self.unknown(access);
        };
        if is_rust(unit) {
            return match access.atomic {
                true => self.lost(access),
                false if self.is_merged(pc, unit, chain.first().copied()) => self.unsure(access),
                false if self.is_elsewhere_in_rust(pc) => self.unsure(access),
                false if self.may_be_exchange(pc, access, unit, Language::Rust) => self.unsure(access),
                false => OrderInfo::plain(Source::Dwarf),
            };
        }
        // Who writes in another language has other rules: Go's runtime reads what others write without a word.
        if !is_c(unit) {
            return self.unknown(access);
        }
        let types = self.debug.types(unit, chain[0]);
        let shape = addr.and_then(|addr| types.iter().find_map(|types| types.static_at(addr)));
        let named = addr.and_then(|addr| self.image.symbol_at(addr)).map(|symbol| symbol.name.as_str());
        let shape = shape.filter(|_| !named.is_some_and(|name| self.may_be_atomic(unit, name)));
        if !access.atomic && !unit.gnu && self.is_merged(pc, unit, chain.first().copied()) {
            return match shape {
                Some(Shape::Atomic) => self.lost(access),
                Some(Shape::Library | Shape::Plain | Shape::Volatile | Shape::Compound) | None => {
                    self.unsure(access)
                }
            };
        }
        if self.may_be_exchange(pc, access, unit, Language::C) {
            return if shape == Some(Shape::Atomic) { self.lost(access) } else { self.unsure(access) };
        }
        self.in_c(pc, access, &Scope { unit, node: chain[0], types, shape })
    }

    /// Whether a variable of C may be `_Atomic` although its type does not say so: before version 5, DWARF cannot say it.
    fn may_be_atomic(&self, unit: &Unit, name: &str) -> bool {
        unit.unit.encoding().version < 5 && !is_cpp(unit) && self.names(Language::C).may_be_atomic(name)
    }

    /// Whether an access may be of a bit-field: compilers read more than the field, and what is beside it.
    pub fn may_read_around(&self, pc: u64) -> bool {
        let Some((unit, chain)) = self.debug.chain(pc) else { return true };
        let Some(&node) = chain.first() else { return true };
        let types = self.debug.types(unit, node);
        if is_rust(unit) || types.iter().all(|types| types.bit_fields.is_empty()) {
            return false;
        }
        // The line tells, if it has one and a field's name is not hidden in a macro.
        let line = self.debug.line(pc);
        let statement = line.and_then(|line| self.kept.0.texts.statement(self.debug.files(), &line));
        statement.map(Statement::alone).is_none_or(|statement| {
            statement.may_hide_atomics()
                || statement
                    .words()
                    .any(|(_, word)| types.iter().any(|types| types.bit_fields.contains(word)))
        })
    }

    /// Whether the line of an instruction does not show what it is: one of inline assembly, which was chosen for what the
    /// processor makes of it, or of an attribute whose macro has made the code, where all calls have one place and what LLVM
    /// merges of them has it, too.
    fn is_elsewhere_in_rust(&self, pc: u64) -> bool {
        let line = self.debug.line(pc);
        line.is_some_and(|line| {
            let items = self.names(Language::Rust).file(&line.file);
            items.is_some_and(|items| items.is_assembly(line.line) || items.is_attribute(line.line))
        })
    }

    /// Whether a store may be what LLVM has made of an exchange whose result nobody uses. Such a store has no place in the
    /// line table: it has that of the instruction before it.
    fn may_be_exchange(&self, pc: u64, access: &Access, unit: &Unit, language: Language) -> bool {
        if access.kind != AccessKind::Store || access.atomic || unit.gnu || self.on_stack_top(access) {
            return false;
        }
        let Some(row) = unit.lines().at(pc).filter(|row| row.addr < pc) else { return false };
        let mut accessed = false;
        self.look(&[(row.addr, pc)], &mut |_, effect| accessed |= !effect.accesses.is_empty());
        accessed && self.names(language).may_exchange_weakly()
    }

    /// Whether an access is the first load of a loop around a compare-and-swap, which compilers make of atomic operations
    /// that no instruction does (`x *= 2` of an `_Atomic`, a reduction of OpenMP's).
    fn begins_swap(&self, pc: u64, access: &Access) -> bool {
        /// The most bytes between the two.
        const AHEAD: u64 = 96;
        if access.kind != AccessKind::Load || self.image.arch() != Arch::X86_64 {
            return false;
        }
        // Where the loaded value is: CMPXCHG expects it in RAX.
        let (mut held, mut ended, mut found) = (RegSet::EMPTY, false, false);
        self.look(&[(pc, pc.saturating_add(AHEAD))], &mut |at, effect| {
            if at == pc {
                held = effect.writes;
                ended = effect.flow != Flow::Next;
            } else if !ended {
                let swaps = effect.accesses.iter().any(|other| other.atomic) && self.is_compare_and_swap(at);
                found = swaps && held.contains(x86::regs::RAX);
                let copies = self.is_copy(at) && effect.reads.iter().any(|reg| held.contains(reg));
                let mut after = if copies { effect.writes } else { RegSet::EMPTY };
                held.iter().filter(|&reg| !effect.writes.contains(reg)).for_each(|reg| after.insert(reg));
                held = after;
                ended = swaps || effect.flow != Flow::Next;
            }
        });
        found
    }

    /// Whether an instruction copies one general register to another.
    fn is_copy(&self, pc: u64) -> bool {
        let bytes = self.image.code_at(pc).map_or(&[][..], opcode);
        matches!(bytes, [0x89 | 0x8b, modrm, ..] if modrm >> 6 == 3)
    }

    /// Whether an instruction is a CMPXCHG.
    fn is_compare_and_swap(&self, pc: u64) -> bool {
        self.image.code_at(pc).is_some_and(|bytes| matches!(opcode(bytes), [0x0f, 0xb0 | 0xb1, ..]))
    }

    /// Whether an instruction may be an atomic one of an inlined call without saying so. LLVM merges instructions of
    /// two paths and says that they are where the calls are, somewhere in the line that both are in (column 0), or
    /// nowhere (line 0).
    fn is_merged(&self, pc: u64, unit: &Unit, innermost: Option<u32>) -> bool {
        let row = unit.lines().at(pc).filter(|row| row.line != 0 && row.column != 0);
        let (Some(row), Some(node)) = (row, innermost) else { return true };
        // Drop glue does little itself; what it calls may be gone without a trace.
        if self.debug.frames(pc).first().is_some_and(|frame| frame.function.contains("drop_in_place")) {
            return true;
        }
        let at = |child: u32| &unit.nodes[child as usize];
        let is_here = |child: &u32| {
            let call = at(*child).call;
            at(*child).parent == node && (call.line, call.column) == (row.line, row.column)
        };
        let atomic = |child: u32| operation(self.debug, unit, child, || None).is_some();
        (node + 1..at(node).end).filter(is_here).any(|child| (child..at(child).end).any(atomic))
    }

    /// C and C++: the statement and the variable's type.
    fn in_c(&self, pc: u64, access: &Access, scope: &Scope<'_>) -> OrderInfo {
        let shape = scope.shape;
        let addr = self.static_address(pc, access);
        let line = self.debug.line(pc);
        let statement = line.as_ref().and_then(|line| self.kept.0.texts.statement(self.debug.files(), line));
        let Some(statement) = statement else {
            return match shape {
                _ if access.atomic => self.lost(access),
                Some(Shape::Atomic) => self.lost(access),
                // Of a plain variable: by a builtin, perhaps.
                Some(Shape::Library | Shape::Plain | Shape::Volatile | Shape::Compound) | None => {
                    self.unsure(access)
                }
            };
        };
        if !access.atomic
            && line
                .as_ref()
                .is_some_and(|line| self.kept.0.texts.is_openmp(self.debug.files(), line, &statement))
        {
            return self.unsure(access);
        }
        let names = self.names(Language::C);
        let statement = statement.expanded(|name| names.expansion(name));
        let calls = statement.calls();
        // LLVM's read-modify-writes that change nothing.
        let idle = access.kind == AccessKind::Load && self.is_idle_line(pc, scope.unit);
        let barrier = !scope.unit.gnu && self.is_no_op_on_stack(pc, access);
        let fits = |call: &Call| match call.kind {
            OpKind::Load => access.kind == AccessKind::Load,
            // A sequentially consistent store is an XCHG, and no other store is.
            OpKind::Store => {
                let strong = call.order.is_none_or(|order| order == Order::SeqCst);
                access.kind == AccessKind::Store || access.atomic && strong
            }
            OpKind::Rmw if access.kind == AccessKind::Load => idle,
            OpKind::Rmw | OpKind::Cas => access.atomic && !barrier,
            OpKind::Fence => false,
        };
        let fitting = calls.iter().filter(|call| {
            let here = statement.at.is_some_and(|at| call.extent.0 <= at && at < call.extent.1);
            let named = statement.at == Some(call.extent.0);
            let here = if call.kind == OpKind::Rmw { named && idle } else { here };
            fits(call)
                && (here || access.atomic || shape == Some(Shape::Atomic))
                && !self.is_of_another(addr, call)
        });
        let call = match fitting.collect::<Vec<_>>()[..] {
            [call] => Some(call),
            // Which of them it is does not matter if all are the same.
            [first, ref others @ ..] if others.iter().all(|other| other.is_as(first)) => Some(first),
            ref several => statement.named(several),
        };
        let exact = |call: &Call| {
            let here = |at: usize| call.extent.0 <= at && at < call.extent.1;
            statement.within.is_none() && statement.at.is_some_and(here)
        };
        if let Some(call) = call.filter(|&call| exact(call) || !self.has_operator(&statement, scope)) {
            let sure = access.atomic || self.frame_place(pc, access).is_none();
            let info = match call.order {
                Some(order) if sure => {
                    OrderInfo { failure: call.failure, ..OrderInfo::new(order, Source::Text, Atomic::Yes) }
                }
                None if sure => self.lost(access),
                _ => self.unsure(access),
            };
            let meant = match (call.kind, access.kind) {
                (OpKind::Store, _) => Meant::Store,
                (OpKind::Rmw, AccessKind::Load) => Meant::Rmw,
                (OpKind::Load | OpKind::Rmw | OpKind::Cas | OpKind::Fence, _) => Meant::Same,
            };
            return OrderInfo { meant, ..info };
        }
        // From here on, other statements of the same lines do not matter.
        let statement = statement.alone();
        let calls = statement.calls();
        let named = |shape: Shape| {
            statement
                .words()
                .any(|(at, word)| scope.hints(self, word, &statement.text[..at]).contains(&shape))
        };
        if shape == Some(Shape::Atomic) && calls.is_empty() {
            // C11 6.2.6.1: operators on `_Atomic` objects are sequentially consistent.
            let meant = self.assigns(pc, access, &statement, scope);
            return OrderInfo { meant, ..OrderInfo::new(Order::SeqCst, Source::Text, Atomic::Yes) };
        }
        if access.atomic && calls.is_empty() && self.assigns(pc, access, &statement, scope) == Meant::Store {
            let info = OrderInfo::new(Order::SeqCst, Source::Text, Atomic::Yes);
            return OrderInfo { meant: Meant::Store, ..info };
        }
        if access.atomic || shape == Some(Shape::Atomic) {
            return self.lost(access);
        }
        // Constructors write atomic objects plainly, and `atomic<shared_ptr>` has plain members.
        if shape == Some(Shape::Library) {
            return self.unsure(access);
        }
        if let Some(at) = statement.at
            && calls.is_empty()
            && self.frame_place(pc, access).is_none()
            && let Some((before, name)) = reached(&statement.text[at..])
            && scope.hints(self, name, before).contains(&Shape::Atomic)
        {
            return OrderInfo::new(Order::SeqCst, Source::Text, Atomic::Yes);
        }
        let harmless = |word: &str| {
            let file = line.as_ref().map_or("", |line| line.file.as_str());
            self.kept.0.texts.is_plain_macro(self.debug.files(), file, word)
        };
        let typed = scope.types.iter().any(|types| types.typed());
        // Line tables alone know nothing.
        let (unknown, macros) =
            statement.unknown(|word| typed && (self.knows(word, scope) || harmless(word)));
        let hidden = statement.may_hide_atomics() || macros;
        // Nothing is accessed by an empty line: the text is not what was compiled.
        let other = statement.text.trim().is_empty();
        if self.begins_swap(pc, access) {
            return self.unsure(access);
        }
        if hidden || other || unknown || named(Shape::Atomic) || named(Shape::Volatile) {
            return match shape {
                Some(Shape::Plain) if !hidden => OrderInfo::plain(Source::Dwarf),
                _ => self.unsure(access),
            };
        }
        OrderInfo::plain(Source::Text)
    }

    /// Whether a statement may have an operator on an `_Atomic` object beside its calls: `queue->ready = 1;`. That is
    /// sequentially consistent (C11 6.2.6.1), whatever the calls say.
    fn has_operator(&self, statement: &Statement, scope: &Scope<'_>) -> bool {
        let statement = statement.clone().alone();
        let calls = statement.calls();
        let is_argument = |at: usize| calls.iter().any(|call| call.extent.0 <= at && at < call.extent.1);
        let is_atomic = |(at, word): (usize, &str)| {
            !is_argument(at) && scope.hints(self, word, &statement.text[..at]).contains(&Shape::Atomic)
        };
        statement.words().any(is_atomic)
    }

    /// Whether a call is about another variable than the one at an address.
    fn is_of_another(&self, addr: Option<u64>, call: &Call) -> bool {
        let name = call.object.trim_matches(|c: char| c.is_whitespace() || "&()".contains(c));
        let symbols = self.image.symbols();
        let is_it = |addr: u64| self.image.symbol_at(addr).is_some_and(|symbol| symbol.name == name);
        addr.is_some_and(|addr| !is_it(addr) && symbols.iter().any(|it| it.name == name && !it.function))
    }

    /// What an XCHG is of a statement without a call of an atomic function: of all operators of C only the assignment
    /// becomes one.
    fn assigns(&self, pc: u64, access: &Access, statement: &Statement, scope: &Scope<'_>) -> Meant {
        if !access.atomic || !self.is_exchange(pc) {
            return Meant::Same;
        }
        let (_, called) = statement.unknown(|word| self.knows(word, scope));
        match statement.assigns() && !called && !statement.may_hide_atomics() {
            true => Meant::Store,
            false => Meant::Same,
        }
    }

    /// Whether debug information or the symbol table knows what a name in the source is.
    fn knows(&self, word: &str, scope: &Scope<'_>) -> bool {
        // A macro may have the name of a function, and another body; one of a file that cannot be read, too.
        let names = self.names(Language::C);
        let by_symbol = || names.missing().is_none() || names.defines(word);
        !names.is_macro(word)
            && (scope.types.iter().any(|types| types.knows(word))
                || by_symbol() && self.functions().contains(word))
    }

    /// The address of an access that does not depend on registers.
    pub(super) fn static_address(&self, pc: u64, access: &Access) -> Option<u64> {
        let address = &access.address;
        if address.index.is_some() || address.segment.is_some() {
            return None;
        }
        match address.base {
            None => Some(address.displacement.cast_unsigned()),
            Some(base) if base == program_counter(self.image.arch()) => {
                Some(pc.wrapping_add_signed(address.displacement))
            }
            Some(_) => None,
        }
    }
}

/// How the names of counters begin that compilers add to programs (`-fprofile-generate`, `--coverage` and their like).
const COUNTERS: [&str; 4] = ["__gcov", "__llvm_gcov", "__llvm_prf", "__prof"];

/// What a statement of C or C++ may refer to.
struct Scope<'a> {
    unit: &'a Unit,
    /// The function that was written there, or a call of it that was inlined.
    node: u32,
    types: Vec<&'a Types>,
    /// Of the static variable that is accessed, if it is one.
    shape: Option<Shape>,
}

impl Scope<'_> {
    /// What the types of the variables say that a word may stand for; `before` is the text before it. A variable of
    /// the function hides all others, but not members.
    fn hints(&self, orders: &Orders<'_>, word: &str, before: &str) -> Vec<Shape> {
        let listed = |types: &&Types| {
            let atomic = types.atomic_names.contains(word) || orders.may_be_atomic(self.unit, word);
            let atomic = atomic.then_some(Shape::Atomic);
            let volatile = types.volatile_names.contains(word).then_some(Shape::Volatile);
            atomic.into_iter().chain(volatile)
        };
        let all: Vec<Shape> = self.types.iter().flat_map(listed).collect();
        let before = before.trim_end();
        if all.is_empty() || before.ends_with('.') || before.ends_with("->") {
            return all;
        }
        let (debug, unit) = (orders.debug, self.unit);
        let called = |&entry: &_| variable_name(debug, unit, entry).is_some_and(|name| name == word);
        let mut own = unit.variables(self.node).filter(called).peekable();
        if own.peek().is_none() {
            return all;
        }
        // A type that cannot be told is as its name says.
        let shapes: Option<Vec<Shape>> = own
            .map(|entry| {
                let (unit, of) = variable_type(debug, unit, entry)?;
                hint(&unit.dwarf, &unit.unit, of)
            })
            .collect();
        shapes.unwrap_or(all)
    }
}

/// If the expression that begins here leads to one variable or member before anything else could be accessed, its name
/// and what is before it: `p->flag`, `flag`, `*flag`. Only such a path is sure.
fn reached(text: &str) -> Option<(&str, &str)> {
    let path: &str =
        &text[..text.find(|c: char| !(c.is_alphanumeric() || "_.->*&".contains(c))).unwrap_or(text.len())];
    // `p->flag`: the load of `p` itself, if it is in memory, has the same column; one arrow from a register or
    // frame is all that is sure.
    if path.matches("->").count() > 1 {
        return None;
    }
    let name = path.rsplit(['.', '>', '*', '&', '-']).find(|part| !part.is_empty())?;
    let at = path.rfind(name)?;
    Some((&path[..at], name))
}

#[cfg(test)]
mod tests {
    use super::reached;

    #[test]
    fn paths_to_atomics() {
        let expected = [
            ("flag = 1;", Some(("", "flag"))),
            ("p->flag;", Some(("p->", "flag"))),
            ("*flag + 1", Some(("*", "flag"))),
            ("s.flag)", Some(("s.", "flag"))),
            ("x + flag", Some(("", "x"))),
            ("p->q->flag", None),
            ("(flag)", None),
        ];
        for (text, found) in expected {
            assert_eq!(reached(text), found, "{text}");
        }
    }
}
