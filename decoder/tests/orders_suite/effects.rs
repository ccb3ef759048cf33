//! Effects of x86-64 instructions by iced-x86: enough for compiled test functions, and independent of wmtrace's own
//! decoder, so that what this suite finds is about orders only.

use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};
use wmtrace_decoder::effect::{
    Access, AccessKind, Address, Extent, Fence, Flow, Index, InsnEffect, Reg, RegSet, Unit,
};
use wmtrace_model::order::Order;

/// The instruction at an address.
pub(crate) fn decode(pc: u64, bytes: &[u8]) -> Option<Instruction> {
    let mut decoder = Decoder::with_ip(64, bytes, pc, DecoderOptions::NONE);
    let instruction = decoder.decode();
    (!instruction.is_invalid()).then_some(instruction)
}

fn reg(register: Register) -> Option<Reg> {
    match register.full_register() {
        Register::None => None,
        Register::RIP => Some(Reg(56)),
        full if full.is_gpr64() => Some(Reg(full.number() as u8)),
        _ => None,
    }
}

/// The effect of the instruction at an address.
pub(crate) fn effect(pc: u64, bytes: &[u8]) -> Option<InsnEffect> {
    let instruction = decode(pc, bytes)?;
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(&instruction);
    let atomic = instruction.has_lock_prefix() || instruction.mnemonic() == Mnemonic::Xchg;
    let mut accesses = Vec::new();
    for memory in info.used_memory() {
        let kind = match memory.access() {
            OpAccess::Read | OpAccess::CondRead => AccessKind::Load,
            OpAccess::Write | OpAccess::CondWrite => AccessKind::Store,
            OpAccess::ReadWrite | OpAccess::ReadCondWrite if atomic => AccessKind::Rmw,
            OpAccess::ReadWrite | OpAccess::ReadCondWrite => AccessKind::LoadStore,
            OpAccess::None | OpAccess::NoMemAccess => continue,
        };
        let mut displacement = memory.displacement() as i64;
        let base = reg(memory.base());
        if base == Some(Reg(56)) {
            displacement = displacement.wrapping_sub(pc as i64);
        }
        let index = reg(memory.index()).map(|reg| Index {
            reg,
            from_bits: 64,
            signed: false,
            scale: memory.scale() as u8,
        });
        accesses.push(Access {
            kind,
            address: Address { base, index, displacement, segment: None, bits: 64, writeback: None },
            extent: Extent::Bytes(memory.memory_size().size() as u16),
            order: if atomic { Order::SeqCst } else { Order::Relaxed },
            atomic: atomic && kind == AccessKind::Rmw,
            conditional: false,
            non_temporal: false,
        });
    }
    let mut writes = RegSet::EMPTY;
    for used in info.used_registers() {
        if matches!(used.access(), OpAccess::Write | OpAccess::ReadWrite) {
            writes = reg(used.register()).map_or(writes, |reg| writes.with(reg));
        }
    }
    let fence = (instruction.mnemonic() == Mnemonic::Mfence).then_some(Fence { order: Order::SeqCst });
    let flow = match instruction.mnemonic() {
        Mnemonic::Call if instruction.op0_kind() == OpKind::NearBranch64 => {
            Flow::Call { target: Some(instruction.near_branch_target()) }
        }
        Mnemonic::Call => Flow::Call { target: None },
        Mnemonic::Jmp if instruction.op0_kind() == OpKind::NearBranch64 => {
            Flow::Jump { target: instruction.near_branch_target(), conditional: false }
        }
        Mnemonic::Jmp => Flow::IndirectJump,
        Mnemonic::Ret => Flow::Return,
        _ if instruction.is_jcc_short_or_near() => {
            Flow::Jump { target: instruction.near_branch_target(), conditional: true }
        }
        _ => Flow::Next,
    };
    Some(InsnEffect {
        len: instruction.len() as u8,
        accesses,
        fence,
        reads: RegSet::EMPTY,
        writes,
        flow,
        unit: Unit::Single,
        waits: false,
    })
}
