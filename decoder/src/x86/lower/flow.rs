//! The stack, and control flow.

use super::{Lowering, Operand, Refusal};
use crate::effect::{AccessKind, Extent, Flow};
use crate::x86::regs::{RBP, RFLAGS, RSP};
use crate::x86::shape::Form;

impl Lowering {
    pub(super) fn push_or_pop(&mut self) -> Result<(), Refusal> {
        let bytes = self.prefixes.stack_bytes();
        let extent = Extent::Bytes(bytes.into());
        let operand = self.operands().first().copied();
        self.writes(&[RSP]);
        match (self.shape.form, operand) {
            (Form::Push, Some(operand)) => {
                match operand {
                    Operand::Reg(reg) => self.reads(&[reg]),
                    Operand::Mem { address, .. } => self.access(AccessKind::Load, address, extent),
                    Operand::Imm(_) => {}
                }
                self.access(AccessKind::Store, Self::stack(RSP, -i64::from(bytes)), extent);
            }
            (Form::Pop, Some(operand)) => {
                self.access(AccessKind::Load, Self::stack(RSP, 0), extent);
                match operand {
                    Operand::Reg(reg) => self.writes_one(reg),
                    Operand::Mem { mut address, .. } => {
                        // An address with RSP is computed after RSP has moved.
                        if address.base == Some(RSP) {
                            address.displacement = address.displacement.wrapping_add(i64::from(bytes));
                        }
                        self.access(AccessKind::Store, address, extent);
                    }
                    Operand::Imm(_) => return Err("a pop to a constant"),
                }
            }
            (Form::PushFlags, _) => {
                self.reads(&[RFLAGS]);
                self.access(AccessKind::Store, Self::stack(RSP, -i64::from(bytes)), extent);
            }
            (Form::PopFlags, _) => {
                self.writes(&[RFLAGS]);
                self.access(AccessKind::Load, Self::stack(RSP, 0), extent);
            }
            _ => return Err("a push or pop of nothing"),
        }
        Ok(())
    }

    /// SDM volume 2, ENTER: the old frame pointer, the frame pointers of the enclosing procedures, the new one.
    pub(super) fn enter(&mut self) -> Result<(), Refusal> {
        let [Operand::Imm(_), Operand::Imm(level)] = *self.operands() else {
            return Err("enter without its operands");
        };
        let bytes = i64::from(self.prefixes.stack_bytes());
        let extent = Extent::Bytes(bytes as u16);
        let level = level & 31;
        self.writes(&[RSP, RBP]);
        self.reads(&[RBP]);
        self.access(AccessKind::Store, Self::stack(RSP, -bytes), extent);
        for outer in 1..level {
            self.access(AccessKind::Load, Self::stack(RBP, -bytes * outer), extent);
            self.access(AccessKind::Store, Self::stack(RSP, -bytes * (outer + 1)), extent);
        }
        if level > 0 {
            self.access(AccessKind::Store, Self::stack(RSP, -bytes * (level + 1)), extent);
        }
        Ok(())
    }

    /// Where a relative jump goes.
    pub(super) fn target(&self) -> Result<u64, Refusal> {
        match self.operands() {
            [Operand::Imm(target)] => Ok(*target as u64),
            _ => Err("a jump without a target"),
        }
    }

    pub(super) fn branch(&mut self) -> Result<(), Refusal> {
        // Intel's processors ignore the prefix, AMD's jump to 16 bits. With REX.W (as the linker writes calls
        // of __tls_get_addr) both ignore it, and capstone knows how long CALL and JMP are then.
        let settled = self.prefixes.wide && matches!(self.shape.form, Form::Call | Form::Jump);
        if self.prefixes.operand_size && !settled {
            return Err("an operand-size prefix on a jump");
        }
        let eight = Extent::Bytes(8);
        match self.shape.form {
            Form::Return => {
                self.access(AccessKind::Load, Self::stack(RSP, 0), eight);
                self.writes(&[RSP]);
                self.effect.flow = Flow::Return;
                return Ok(());
            }
            Form::JumpIf | Form::Loop => {
                self.effect.flow = Flow::Jump { target: self.target()?, conditional: true };
                return Ok(());
            }
            _ => {}
        }
        let target = match *self.operands() {
            [Operand::Imm(target)] => Some(target as u64),
            [Operand::Reg(reg)] => {
                self.reads(&[reg]);
                None
            }
            [Operand::Mem { address, bytes, .. }] => {
                // Far jumps (FF /3 and /5) have the same id.
                if bytes != 8 || matches!(self.opcode_extension(), 3 | 5) {
                    return Err("a far jump");
                }
                self.access(AccessKind::Load, address, eight);
                None
            }
            _ => return Err("a jump without a target"),
        };
        if self.shape.form == Form::Call {
            self.access(AccessKind::Store, Self::stack(RSP, -8), eight);
            self.writes(&[RSP]);
            self.effect.flow = Flow::Call { target };
        } else {
            self.effect.flow = match target {
                Some(target) => Flow::Jump { target, conditional: false },
                None => Flow::IndirectJump,
            };
        }
        Ok(())
    }
}
