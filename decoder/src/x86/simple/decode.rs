//! Which instructions are simple, and what their operands are.

use super::alu::{Alu, Shift};
use super::{Address, Bit, Operand, Part, RAX, RCX, RDX, Segment, Simple, Verb};
use iced_x86::{Code, ConditionCode, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

pub(super) fn decode(pc: u64, bytes: &[u8]) -> Option<Simple> {
    let insn = Decoder::with_ip(64, bytes, pc, DecoderOptions::NONE).decode();
    if insn.is_invalid() || insn.has_rep_prefix() || insn.has_repne_prefix() {
        return None;
    }
    let verb = verb(&insn)?;
    let nothing = Operand::Constant(0);
    let register = |number, width| Operand::Register(Part { number, width, high: false });
    let count = if verb == Verb::Nothing { 0 } else { insn.op_count() };
    let mut operands = [nothing; 3];
    for at in 0..count.min(3) {
        operands[at as usize] = operand(&insn, at)?;
    }
    let [mut to, mut from, mut by] = operands;
    let mut width = match to {
        Operand::Register(part) => part.width,
        Operand::Memory => memory_width(&insn)?,
        Operand::Constant(_) => 8,
    };
    match insn.mnemonic() {
        Mnemonic::Cbw => (to, from, width) = (register(RAX, 2), register(RAX, 1), 2),
        Mnemonic::Cwde => (to, from, width) = (register(RAX, 4), register(RAX, 2), 4),
        Mnemonic::Cdqe => (to, from, width) = (register(RAX, 8), register(RAX, 4), 8),
        Mnemonic::Cdq => (to, from, width) = (register(RDX, 4), register(RAX, 4), 4),
        Mnemonic::Cqo => (to, from, width) = (register(RDX, 8), register(RAX, 8), 8),
        Mnemonic::Leave => to = Operand::Register(Part::whole(super::RBP)),
        _ => {}
    }
    match verb {
        // Half a word on the stack is nothing that a compiler makes.
        Verb::Push | Verb::Pop if insn.stack_pointer_increment().abs() != 8 => return None,
        Verb::Leave if insn.code() != Code::Leaveq => return None,
        Verb::Push => (to, from, width) = (Operand::Memory, to, 8),
        // By one, if nothing else is said.
        Verb::Shift(_) if count == 1 => from = Operand::Constant(1),
        Verb::Multiply if count == 2 => (from, by) = (to, from),
        _ => {}
    }
    if !is_usual(verb, width, to, from) {
        return None;
    }
    let named = insn.op_kinds().any(|kind| kind == OpKind::Memory);
    let address = if named { address(&insn)? } else { Address::default() };
    let touch = match verb {
        Verb::Nothing | Verb::Locate => None,
        Verb::Push => Some((8, false, true)),
        Verb::Pop | Verb::Leave => Some((8, true, false)),
        _ if !named => None,
        _ => {
            let changes = to == Operand::Memory && !matches!(verb, Verb::Compare(_) | Verb::TestBit(_));
            let changes = changes && !matches!(verb, Verb::MultiplyWide { .. });
            let looks = to != Operand::Memory || !matches!(verb, Verb::Move | Verb::SetIf(_));
            Some((memory_width(&insn)?, looks, changes))
        }
    };
    Some(Simple { verb, width, to, from, by, address, touch })
}

/// Whether what the operands mean is the same as for every other instruction with this verb.
fn is_usual(verb: Verb, width: u8, to: Operand, from: Operand) -> bool {
    match verb {
        Verb::Shift(_) => match from {
            Operand::Constant(by) => width >= 4 || by & 31 < u64::from(width) * 8,
            _ => width >= 4,
        },
        // Of two bytes: not defined. Of one: in other registers.
        Verb::SwapBytes | Verb::MultiplyWide { .. } => width >= 4,
        Verb::Multiply => width >= 2,
        Verb::FindBit { .. } | Verb::CountZeros { .. } | Verb::CountOnes => width >= 4,
        // A bit of memory may be far from the operand.
        Verb::TestBit(_) => to != Operand::Memory,
        // Registers only: not worth the while. The accumulator compared with itself is a riddle.
        Verb::CompareExchange | Verb::ExchangeAdd => to == Operand::Memory,
        Verb::Push => from != Operand::Memory,
        Verb::Pop => to != Operand::Memory,
        // What changes memory and a register changes memory in the end.
        Verb::Exchange => matches!(from, Operand::Register(_)),
        _ => true,
    }
}

const CONDITIONAL_MOVES: [Mnemonic; 16] = [
    Mnemonic::Cmovo,
    Mnemonic::Cmovno,
    Mnemonic::Cmovb,
    Mnemonic::Cmovae,
    Mnemonic::Cmove,
    Mnemonic::Cmovne,
    Mnemonic::Cmovbe,
    Mnemonic::Cmova,
    Mnemonic::Cmovs,
    Mnemonic::Cmovns,
    Mnemonic::Cmovp,
    Mnemonic::Cmovnp,
    Mnemonic::Cmovl,
    Mnemonic::Cmovge,
    Mnemonic::Cmovle,
    Mnemonic::Cmovg,
];

const CONDITIONAL_SETS: [Mnemonic; 16] = [
    Mnemonic::Seto,
    Mnemonic::Setno,
    Mnemonic::Setb,
    Mnemonic::Setae,
    Mnemonic::Sete,
    Mnemonic::Setne,
    Mnemonic::Setbe,
    Mnemonic::Seta,
    Mnemonic::Sets,
    Mnemonic::Setns,
    Mnemonic::Setp,
    Mnemonic::Setnp,
    Mnemonic::Setl,
    Mnemonic::Setge,
    Mnemonic::Setle,
    Mnemonic::Setg,
];

fn verb(insn: &Instruction) -> Option<Verb> {
    Some(match insn.mnemonic() {
        Mnemonic::Nop | Mnemonic::Endbr64 => Verb::Nothing,
        Mnemonic::Mov | Mnemonic::Movzx => Verb::Move,
        Mnemonic::Movsx | Mnemonic::Movsxd | Mnemonic::Cbw | Mnemonic::Cwde | Mnemonic::Cdqe => {
            Verb::ExtendSign
        }
        Mnemonic::Cdq | Mnemonic::Cqo => Verb::SpreadSign,
        Mnemonic::Lea => Verb::Locate,
        Mnemonic::Add => Verb::Combine(Alu::Add),
        Mnemonic::Adc => Verb::Combine(Alu::AddCarry),
        Mnemonic::Sub => Verb::Combine(Alu::Subtract),
        Mnemonic::Sbb => Verb::Combine(Alu::SubtractBorrow),
        Mnemonic::And => Verb::Combine(Alu::And),
        Mnemonic::Or => Verb::Combine(Alu::Or),
        Mnemonic::Xor => Verb::Combine(Alu::Xor),
        Mnemonic::Cmp => Verb::Compare(Alu::Subtract),
        Mnemonic::Test => Verb::Compare(Alu::And),
        Mnemonic::Inc => Verb::Count(Alu::Add),
        Mnemonic::Dec => Verb::Count(Alu::Subtract),
        Mnemonic::Neg => Verb::Negate,
        Mnemonic::Not => Verb::Invert,
        Mnemonic::Shl | Mnemonic::Sal => Verb::Shift(Shift::Left),
        Mnemonic::Shr => Verb::Shift(Shift::Right),
        Mnemonic::Sar => Verb::Shift(Shift::RightSigned),
        Mnemonic::Rol => Verb::Shift(Shift::RotateLeft),
        Mnemonic::Ror => Verb::Shift(Shift::RotateRight),
        Mnemonic::Imul if insn.op_count() > 1 => Verb::Multiply,
        Mnemonic::Imul => Verb::MultiplyWide { signed: true },
        Mnemonic::Mul => Verb::MultiplyWide { signed: false },
        Mnemonic::Shlx => Verb::ShiftQuietly(Shift::Left),
        Mnemonic::Shrx => Verb::ShiftQuietly(Shift::Right),
        Mnemonic::Sarx => Verb::ShiftQuietly(Shift::RightSigned),
        Mnemonic::Rorx => Verb::ShiftQuietly(Shift::RotateRight),
        Mnemonic::Andn => Verb::AndNot,
        Mnemonic::Bsf => Verb::FindBit { last: false },
        Mnemonic::Bsr => Verb::FindBit { last: true },
        Mnemonic::Tzcnt => Verb::CountZeros { leading: false },
        Mnemonic::Lzcnt => Verb::CountZeros { leading: true },
        Mnemonic::Popcnt => Verb::CountOnes,
        Mnemonic::Bt => Verb::TestBit(Bit::Stays),
        Mnemonic::Bts => Verb::TestBit(Bit::Set),
        Mnemonic::Btr => Verb::TestBit(Bit::Cleared),
        Mnemonic::Btc => Verb::TestBit(Bit::Flipped),
        Mnemonic::Bswap => Verb::SwapBytes,
        Mnemonic::Push => Verb::Push,
        Mnemonic::Pop => Verb::Pop,
        Mnemonic::Leave => Verb::Leave,
        Mnemonic::Xchg => Verb::Exchange,
        Mnemonic::Xadd => Verb::ExchangeAdd,
        Mnemonic::Cmpxchg => Verb::CompareExchange,
        name if CONDITIONAL_MOVES.contains(&name) => Verb::MoveIf(condition(insn.condition_code())?),
        name if CONDITIONAL_SETS.contains(&name) => Verb::SetIf(condition(insn.condition_code())?),
        _ => return None,
    })
}

/// As in the opcode.
fn condition(code: ConditionCode) -> Option<u8> {
    Some(match code {
        ConditionCode::o => 0,
        ConditionCode::no => 1,
        ConditionCode::b => 2,
        ConditionCode::ae => 3,
        ConditionCode::e => 4,
        ConditionCode::ne => 5,
        ConditionCode::be => 6,
        ConditionCode::a => 7,
        ConditionCode::s => 8,
        ConditionCode::ns => 9,
        ConditionCode::p => 10,
        ConditionCode::np => 11,
        ConditionCode::l => 12,
        ConditionCode::ge => 13,
        ConditionCode::le => 14,
        ConditionCode::g => 15,
        ConditionCode::None => return None,
    })
}

fn operand(insn: &Instruction, at: u32) -> Option<Operand> {
    Some(match insn.op_kind(at) {
        OpKind::Register => Operand::Register(part(insn.op_register(at))?),
        OpKind::Memory => Operand::Memory,
        OpKind::Immediate8
        | OpKind::Immediate16
        | OpKind::Immediate32
        | OpKind::Immediate64
        | OpKind::Immediate8to16
        | OpKind::Immediate8to32
        | OpKind::Immediate8to64
        | OpKind::Immediate32to64 => Operand::Constant(insn.immediate(at)),
        _ => return None,
    })
}

fn part(register: Register) -> Option<Part> {
    if !register.is_gpr() {
        return None;
    }
    let high = match register {
        Register::AH => Some(RAX),
        Register::CH => Some(RCX),
        Register::DH => Some(RDX),
        Register::BH => Some(3),
        _ => None,
    };
    let number = high.unwrap_or(register.full_register().number() as u8);
    Some(Part { number, width: register.size() as u8, high: high.is_some() })
}

fn memory_width(insn: &Instruction) -> Option<u8> {
    u8::try_from(insn.memory_size().size()).ok().filter(|width| matches!(width, 1 | 2 | 4 | 8))
}

fn address(insn: &Instruction) -> Option<Address> {
    let whole = |register: Register| match register {
        Register::None => Some(None),
        register if register.is_gpr64() => Some(Some(register.number() as u8)),
        // Of 32 bits: not worth the while.
        _ => None,
    };
    let segment = match insn.segment_prefix() {
        Register::FS => Some(Segment::Fs),
        Register::GS => Some(Segment::Gs),
        _ => None,
    };
    // What is relative to the program counter has been added up already.
    let base = match insn.memory_base() {
        Register::RIP => None,
        base => whole(base)?,
    };
    let index = whole(insn.memory_index())?.map(|number| (number, u64::from(insn.memory_index_scale())));
    Some(Address { segment, base, index, displacement: insn.memory_displacement64() })
}
