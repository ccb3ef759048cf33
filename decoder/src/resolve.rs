//! From the template of an instruction and the registers of a stopped thread to its concrete accesses.
//!
//! Total: every template and every register value gives a result. Address arithmetic wraps as the processor's
//! does, lanes that no register has are left out, and a repeat count is bounded by the address space. The number
//! of accesses is at most the number of lanes (64); a repeated access is one range, however long.

use crate::effect::{Access, Address, Concrete, Extent, InsnEffect, Mask, Registers};
use crate::x86::regs::RFLAGS;

/// The direction flag in `rflags`: set, string instructions go downwards.
const DIRECTION: u64 = 1 << 10;

impl InsnEffect {
    /// The accesses that the instruction would make now. `registers` are those before it, with the program
    /// counter at the instruction.
    pub fn resolve(&self, registers: &impl Registers) -> Vec<Concrete> {
        let mut found = Vec::new();
        self.resolve_into(registers, &mut found);
        found
    }

    /// As [`InsnEffect::resolve`], appended to `found`: for those who keep a buffer.
    pub fn resolve_into(&self, registers: &impl Registers, found: &mut Vec<Concrete>) {
        for access in &self.accesses {
            access.resolve_into(registers, found);
        }
    }
}

impl Access {
    /// As [`InsnEffect::resolve_into`], of one access.
    pub fn resolve_into(&self, registers: &impl Registers, found: &mut Vec<Concrete>) {
        let mut add = |addr: u64, len: u64| {
            if len > 0 {
                found.push(Concrete {
                    kind: self.kind,
                    addr,
                    len,
                    order: self.order,
                    atomic: self.atomic,
                    conditional: self.conditional,
                    non_temporal: self.non_temporal,
                });
            }
        };
        let at = |offset: u64| self.address.plus(offset, registers);
        match self.extent {
            Extent::Bytes(len) | Extent::AtMost(len) => add(at(0), u64::from(len)),
            Extent::Block(len) => add(at(0) & !(u64::from(len) - 1), u64::from(len)),
            Extent::Repeated { element, count, conditional: _ } => {
                let count = truncate(registers.general(count), self.address.bits);
                let element = u64::from(element);
                let space = truncate(u64::MAX, self.address.bits);
                let len = count.saturating_mul(element).min(space);
                let downwards = registers.general(RFLAGS) & DIRECTION != 0;
                let offset = if downwards { element.wrapping_sub(len) } else { 0 };
                add(at(offset), len);
            }
            Extent::Lanes { element, lanes, indices, index_bytes, scale, mask } => {
                let chosen = chosen(mask, lanes, registers);
                let indices = registers.vector(indices);
                for lane in (0..lanes.min(64)).filter(|lane| chosen >> lane & 1 != 0) {
                    if let Some(index) = lane_value(&indices, lane, index_bytes) {
                        add(at(index.wrapping_mul(u64::from(scale))), u64::from(element));
                    }
                }
            }
            Extent::Masked { element, lanes, mask } => {
                // Neighbouring lanes are one range.
                let chosen = chosen(Some(mask), lanes, registers);
                let mut lane = 0;
                while lane < u32::from(lanes).min(64) {
                    let run = (chosen >> lane).trailing_ones();
                    if run > 0 {
                        let element = u64::from(element);
                        add(at(u64::from(lane) * element), u64::from(run) * element);
                    }
                    lane += run + 1;
                }
            }
            Extent::Packed { element, lanes, mask } => {
                let count = chosen(Some(mask), lanes, registers).count_ones();
                add(at(0), u64::from(count) * u64::from(element));
            }
            Extent::BitString { element, offset } => {
                let element = u64::from(element.max(1));
                let bit = extend(registers.general(offset), element.saturating_mul(8) as u8, true) as i64;
                let steps = bit.div_euclid((element * 8) as i64) as u64;
                add(at(steps.wrapping_mul(element)), element);
            }
        }
    }
}

impl Address {
    /// The address, `offset` further on. The offset takes part in the truncation to [`Address::bits`].
    fn plus(&self, offset: u64, registers: &impl Registers) -> u64 {
        let base = self.base.map_or(0, |base| registers.general(base));
        let index = self.index.map_or(0, |index| {
            extend(registers.general(index.reg), index.from_bits, index.signed)
                .wrapping_mul(u64::from(index.scale))
        });
        let sum = base.wrapping_add(index).wrapping_add_signed(self.displacement).wrapping_add(offset);
        let segment = self.segment.map_or(0, |segment| registers.general(segment));
        truncate(sum, self.bits).wrapping_add(segment)
    }
}

/// The low `bits` of a value.
fn truncate(value: u64, bits: u8) -> u64 {
    match bits {
        0 => 0,
        1..64 => value & ((1 << bits) - 1),
        64.. => value,
    }
}

/// The low `bits` of a value, extended to 64.
fn extend(value: u64, bits: u8, signed: bool) -> u64 {
    let low = truncate(value, bits);
    match bits {
        1..64 if signed && low >> (bits - 1) & 1 != 0 => low | !((1 << bits) - 1),
        _ => low,
    }
}

/// The lanes that take part, one bit each.
fn chosen(mask: Option<Mask>, lanes: u8, registers: &impl Registers) -> u64 {
    let all = truncate(u64::MAX, lanes);
    match mask {
        None => all,
        Some(Mask::Bits(reg)) => {
            let bytes = registers.vector(reg);
            all & lane_value(&bytes, 0, 8).unwrap_or(0)
        }
        Some(Mask::Signs(reg, size)) => {
            let bytes = registers.vector(reg);
            let sign = |lane: u8| {
                let last = (usize::from(lane) + 1) * usize::from(size);
                last.checked_sub(1).and_then(|last| bytes.get(last)).is_some_and(|byte| byte & 0x80 != 0)
            };
            (0..lanes.min(64)).filter(|&lane| sign(lane)).fold(0, |bits, lane| bits | 1 << lane)
        }
    }
}

/// A lane of `size` bytes, extended with its sign.
fn lane_value(vector: &[u8; 64], lane: u8, size: u8) -> Option<u64> {
    let size = usize::from(size);
    let start = usize::from(lane) * size;
    let bytes = vector.get(start..start + size)?;
    let value = bytes.iter().rev().fold(0_u64, |value, &byte| value << 8 | u64::from(byte));
    Some(extend(value, (size.min(8) * 8) as u8, true))
}
