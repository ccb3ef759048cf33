//! Where threads are: for reports, and for the model's sites.

use super::patch::Kind;
use super::run::Run;
use crate::engine::sites::StackId;
use wmtrace_model::strategy::Strategy;

impl<S: Strategy> Run<'_, S> {
    /// Where the thread is for the program: at an instruction under the model, or at the call that led elsewhere.
    pub(super) fn here(&mut self, index: usize) -> (u64, StackId) {
        if let Some(place) = self.threads[index].place {
            return place;
        }
        let thread = &self.threads[index];
        let (sp, on_stack, memory) = (thread.regs.sp(), &thread.on_stack, &self.memory);
        let read = |addr: u64| {
            let at = addr.checked_sub(sp).map(|at| at as usize);
            let bytes = at.and_then(|at| on_stack.get(at..at.checked_add(8)?));
            match bytes {
                Some(bytes) => Some(u64::from_le_bytes(bytes.try_into().expect("eight bytes"))),
                None => memory.read_u64(addr),
            }
        };
        // Functions whose return matters return to us; who called them is known.
        let returns: Vec<u64> = self
            .biases
            .iter()
            .map(|(&file, bias)| self.engine.files.copies[file].own.returns.wrapping_add(*bias))
            .collect();
        let mut calls = thread.calls.iter().rev();
        let returns =
            |ret: u64| if returns.contains(&ret) { calls.next().map(|call| call.ret) } else { None };
        let callers = self.engine.unwind.callers(&thread.regs, self.engine.host.window(), read, returns);
        let pc = thread.regs.pc;
        let callers: Vec<u64> = callers.into_iter().filter(|&ret| self.is_managed(ret)).collect();
        // An entry of the procedure linkage table is nobody's code.
        // (One that has come to no gate yet is still the emulator's.)
        let gate = self.engine.files.gates.get(thread.gate);
        let import = gate.is_some_and(|gate| matches!(gate.kind, Kind::Import(_)));
        let elsewhere = import || !self.is_managed(pc);
        let mut stack = StackId::default();
        for &ret in callers.iter().skip(usize::from(elsewhere)).rev() {
            stack = self.engine.sites.called(stack, ret, &self.modules);
        }
        let place = match callers.first() {
            Some(&ret) if elsewhere => (ret.wrapping_sub(1), stack),
            _ => (pc, stack),
        };
        self.threads[index].place = Some(place);
        place
    }
}
