//! Accesses of many elements: string instructions, gathers, scatters and masked moves.

use super::{Lowering, Operand, Refusal};
use crate::effect::{AccessKind, Address, Extent, Mask, Unit};
use crate::x86::regs::{self, RAX, RCX, RDI, RFLAGS, RSI};
use crate::x86::shape::{Op, StringOp};

impl Lowering {
    pub(super) fn string(&mut self, op: StringOp, element: u8) {
        // Both prefixes repeat; which of them matters only to the comparisons' end.
        let repeats = self.prefixes.repeat.is_some();
        let compares = matches!(op, StringOp::Compare | StringOp::Scan);
        let extent = if repeats {
            Extent::Repeated { element, count: RCX, conditional: compares }
        } else {
            Extent::Bytes(element.into())
        };
        self.reads(&[RFLAGS]);
        if compares {
            self.writes(&[RFLAGS]);
        }
        let source = self.address(Some(RSI), 0, true);
        // The destination is always in ES.
        let destination = self.address(Some(RDI), 0, false);
        let mut touch = |kind, address: Address| {
            self.access(kind, address, extent);
            if repeats && compares {
                self.conditional();
            }
            address.base.iter().for_each(|&base| self.effect.writes.insert(base));
        };
        match op {
            StringOp::Move => {
                touch(AccessKind::Load, source);
                touch(AccessKind::Store, destination);
            }
            StringOp::Compare => {
                touch(AccessKind::Load, source);
                touch(AccessKind::Load, destination);
            }
            StringOp::Store => {
                touch(AccessKind::Store, destination);
                self.reads(&[RAX]);
            }
            StringOp::Load => {
                touch(AccessKind::Load, source);
                self.writes(&[RAX]);
                if repeats {
                    // It keeps its value if RCX is 0.
                    self.reads(&[RAX]);
                }
            }
            StringOp::Scan => {
                touch(AccessKind::Load, destination);
                self.reads(&[RAX]);
            }
        }
        if repeats {
            self.reads(&[RCX]);
            self.writes(&[RCX]);
            self.effect.unit = Unit::Repeats;
        }
    }

    fn lanes(
        &mut self,
        kind: AccessKind,
        operand: Operand,
        (element, index_bytes): (u8, u8),
        mask: Mask,
    ) -> Result<(), Refusal> {
        let Operand::Mem { address, lanes: Some((indices, scale)), .. } = operand else {
            return Err("a gather or scatter without a vector index");
        };
        let lanes = self.prefixes.vector / element.max(index_bytes);
        self.reads(&[indices]);
        let extent = Extent::Lanes { element, lanes, indices, index_bytes, scale, mask: Some(mask) };
        self.access(kind, address, extent);
        self.conditional();
        Ok(())
    }

    pub(super) fn gather(&mut self, element: u8, index: u8) -> Result<(), Refusal> {
        match (self.mask(), self.operands()) {
            (Some(mask), &[Operand::Reg(to), memory]) => {
                self.reads_and_writes(mask);
                self.reads_and_writes(to);
                self.lanes(AccessKind::Load, memory, (element, index), Mask::Bits(mask))
            }
            (None, &[Operand::Reg(to), memory, Operand::Reg(mask)]) => {
                self.reads_and_writes(mask);
                self.reads_and_writes(to);
                self.lanes(AccessKind::Load, memory, (element, index), Mask::Signs(mask, element))
            }
            _ => Err("a gather without a mask"),
        }
    }

    pub(super) fn scatter(&mut self, element: u8, index: u8) -> Result<(), Refusal> {
        match (self.mask(), self.operands()) {
            (Some(mask), &[memory, Operand::Reg(from)]) => {
                self.reads_and_writes(mask);
                self.reads(&[from]);
                self.lanes(AccessKind::Store, memory, (element, index), Mask::Bits(mask))
            }
            _ => Err("a scatter without a mask"),
        }
    }

    pub(super) fn vector_mask(&mut self, element: u8) -> Result<(), Refusal> {
        self.plain(&[Op::W, Op::R, Op::R])?;
        let Some(&Operand::Reg(mask)) = self.operands().get(1) else {
            return Err("a masked move without a mask");
        };
        let lanes = self.prefixes.vector / element;
        if let Some(access) = self.effect.accesses.last_mut() {
            access.extent = Extent::Masked { element, lanes, mask: Mask::Signs(mask, element) };
            access.conditional = true;
        }
        Ok(())
    }

    pub(super) fn mask_move(&mut self) -> Result<(), Refusal> {
        self.plain(&[Op::R, Op::R])?;
        let Some(&Operand::Reg(mask)) = self.operands().get(1) else {
            return Err("a masked move without a mask");
        };
        let extent = if mask == regs::X87 {
            // MMX registers have no number of their own, so their signs cannot be asked for.
            Extent::AtMost(8)
        } else {
            Extent::Masked { element: 1, lanes: 16, mask: Mask::Signs(mask, 1) }
        };
        let address = self.address(Some(RDI), 0, true);
        self.access(AccessKind::Store, address, extent);
        self.conditional();
        Ok(())
    }

    pub(super) fn move_line(&mut self) -> Result<(), Refusal> {
        let [Operand::Reg(to), Operand::Mem { address: from, .. }] = *self.operands() else {
            return Err("a line move without its operands");
        };
        self.access(AccessKind::Load, from, Extent::Bytes(64));
        let to = self.address(Some(to), 0, false);
        self.access(AccessKind::Store, to, Extent::Bytes(64));
        Ok(())
    }
}
