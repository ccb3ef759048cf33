//! What yaxpeax-arm says that a word loads and stores. It does not say so itself: this reads its mnemonic and the
//! sizes of its operands, which it found without capstone and without our tables.

use yaxpeax_arch::{Decoder as _, U8Reader};
use yaxpeax_arm::armv8::a64::{InstDecoder, Instruction, Operand, SIMDSizeCode, SizeCode};

/// Bytes loaded and stored; a read-modify-write does both.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Opinion {
    pub(crate) loads: u32,
    pub(crate) stores: u32,
}

/// Why there is none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum NoOpinion {
    /// It does not know the instruction.
    Undecoded,
    /// A system instruction, which may be DC ZVA: its text does not tell.
    System,
}

/// The operations of LSE atomics.
const OPERATIONS: [&str; 8] = ["add", "clr", "eor", "set", "smax", "smin", "umax", "umin"];

/// The opinion on a word, and its text.
pub(crate) fn opinion(word: u32) -> (Result<Opinion, NoOpinion>, String) {
    let bytes = word.to_le_bytes();
    let mut insn = Instruction::default();
    if InstDecoder::default().decode_into(&mut insn, &mut U8Reader::new(&bytes)).is_err() {
        return (Err(NoOpinion::Undecoded), String::new());
    }
    let text = insn.to_string();
    let mnemonic = text.split(' ').next().unwrap_or("");
    if ["sys", "dc", "ic", "at", "tlbi"].contains(&mnemonic) {
        return (Err(NoOpinion::System), text);
    }
    let atomic = |name: &str| {
        name.starts_with("cas")
            || name.starts_with("swp")
            || OPERATIONS
                .iter()
                .any(|operation| name.get(2..).is_some_and(|rest| rest.starts_with(operation)))
    };
    let memory = ["ld", "st", "cas", "swp"].iter().any(|start| mnemonic.starts_with(start));
    let bytes = if memory { width(mnemonic, &insn) } else { 0 };
    let found = match mnemonic {
        name if memory && atomic(name) => Opinion { loads: bytes, stores: bytes },
        name if name.starts_with("ld") => Opinion { loads: bytes, stores: 0 },
        name if name.starts_with("st") => Opinion { loads: 0, stores: bytes },
        _ => Opinion::default(),
    };
    (Ok(found), text)
}

fn width(mnemonic: &str, insn: &Instruction) -> u32 {
    // An exclusive store's first register is its status.
    let status = mnemonic.starts_with("stx") || mnemonic.starts_with("stlx");
    let register = || size(&insn.operands[usize::from(status)]);
    let structure = mnemonic.as_bytes().get(2).is_some_and(u8::is_ascii_digit);
    let pair = ["ldp", "stp", "ldnp", "stnp", "ldxp", "stxp", "ldaxp", "stlxp", "casp"];
    match mnemonic {
        // Tags are no data.
        "ldg" | "stg" | "st2g" => 0,
        "stzg" => 16,
        "stz2g" => 32,
        "ldpsw" => 8,
        name if structure => structure_size(&insn.operands[0], name.ends_with('r')),
        name if pair.iter().any(|pair| name.starts_with(pair)) => 2 * register(),
        name if name.ends_with('b') => 1,
        name if name.ends_with('h') => 2,
        name if name.ends_with("sw") => 4,
        _ => register(),
    }
}

fn size(operand: &Operand) -> u32 {
    match operand {
        Operand::Register(size, _) | Operand::RegisterPair(size, _) | Operand::RegisterOrSP(size, _) => {
            match size {
                SizeCode::W => 4,
                SizeCode::X => 8,
            }
        }
        Operand::SIMDRegister(size, _) => simd(*size),
        other => panic!("no register: {other:?}"),
    }
}

fn structure_size(operand: &Operand, replicate: bool) -> u32 {
    match operand {
        Operand::SIMDRegisterGroup(_, _, element, count) if replicate => simd(*element) * u32::from(*count),
        Operand::SIMDRegisterGroup(whole, _, _, count) => simd(*whole) * u32::from(*count),
        Operand::SIMDRegisterGroupLane(_, element, count, _) => simd(*element) * u32::from(*count),
        other => panic!("no structure: {other:?}"),
    }
}

const fn simd(size: SIMDSizeCode) -> u32 {
    match size {
        SIMDSizeCode::B => 1,
        SIMDSizeCode::H => 2,
        SIMDSizeCode::S => 4,
        SIMDSizeCode::D => 8,
        SIMDSizeCode::Q => 16,
    }
}
