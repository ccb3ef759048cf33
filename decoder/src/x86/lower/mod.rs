//! From capstone's operands and a shape to the effect of the instruction.

mod flow;
mod lanes;

use super::prefix::{Encoding, Prefixes};
use super::regs::{self, FromCapstone, RAX, RBP, RBX, RDX, RIP, RSP};
use super::shape::{Form, Masking, Op, Shape, Width};
use crate::effect::{Access, AccessKind, Address, Extent, Fence, Flow, Index, InsnEffect, Mask, Reg, Unit};
use capstone::arch::DetailsArchInsn;
use capstone::arch::x86::{X86InsnDetail, X86OpMem, X86Operand, X86OperandType, X86Reg};
use wmtrace_model::order::Order;

/// Why an instruction that capstone knows has no effect here.
pub(super) type Refusal = &'static str;

/// No x86-64 instruction has more operands (VPERMIL2PS has five; a mask is counted apart).
const OPERANDS: usize = 6;

/// An operand, in our terms.
#[derive(Clone, Copy)]
enum Operand {
    Reg(Reg),
    Mem {
        address: Address,
        /// The index, if it is a vector.
        lanes: Option<(Reg, u8)>,
        bytes: u16,
    },
    Imm(i64),
}

/// The effect of the instruction of `len` bytes.
pub(super) fn lower(
    len: u8,
    prefixes: Prefixes,
    shape: &'static Shape,
    detail: &X86InsnDetail<'_>,
    names: &FromCapstone,
) -> Result<InsnEffect, Refusal> {
    let mut lowering = Lowering {
        prefixes,
        shape,
        operands: [Operand::Imm(0); OPERANDS],
        count: 0,
        modrm: detail.modrm(),
        effect: InsnEffect {
            len,
            accesses: Vec::new(),
            fence: shape.fence.map(|order| Fence { order }),
            reads: shape.reads,
            writes: shape.writes,
            flow: Flow::Next,
            unit: Unit::Single,
            waits: shape.waits,
        },
    };
    lowering.take_operands(detail, names)?;
    lowering.run(shape)?;
    Ok(lowering.effect)
}

struct Lowering {
    prefixes: Prefixes,
    shape: &'static Shape,
    operands: [Operand; OPERANDS],
    count: usize,
    modrm: u8,
    effect: InsnEffect,
}

impl Lowering {
    fn operands(&self) -> &[Operand] {
        &self.operands[..self.count]
    }

    fn take_operands(&mut self, detail: &X86InsnDetail<'_>, names: &FromCapstone) -> Result<(), Refusal> {
        let mut mask = self.mask();
        for (position, operand) in detail.operands().enumerate() {
            let operand = match operand.op_type {
                X86OperandType::Reg(id) => {
                    let reg = names.get(id).ok_or("a register that only the kernel can use")?;
                    // Capstone lists the mask as an operand: second, or first for a prefetch. It is none here.
                    if mask == Some(reg) && (position > 0 || self.shape.ops == [Op::A]) {
                        mask = None;
                        continue;
                    }
                    Operand::Reg(reg)
                }
                X86OperandType::Imm(value) => Operand::Imm(value),
                X86OperandType::Mem(ref mem) => self.memory(mem, &operand, names)?,
                X86OperandType::Invalid => return Err("an operand that capstone does not name"),
            };
            *self.operands.get_mut(self.count).ok_or("too many operands")? = operand;
            self.count += 1;
        }
        Ok(())
    }

    fn memory(&self, mem: &X86OpMem, operand: &X86Operand, names: &FromCapstone) -> Result<Operand, Refusal> {
        let reg = |id: capstone::RegId| match u32::from(id.0) {
            X86Reg::X86_REG_INVALID | X86Reg::X86_REG_RIZ | X86Reg::X86_REG_EIZ => Ok(None),
            _ => names.get(id).map(Some).ok_or("an address with an unknown register"),
        };
        let base = reg(mem.base())?;
        let scale = u8::try_from(mem.scale()).map_err(|_| "an unknown scale")?;
        let mut displacement = mem.disp();
        if base == Some(RIP) {
            // The processor adds it to the address of the next instruction; we to that of this one.
            displacement = displacement.wrapping_add(i64::from(self.effect.len));
        }
        let index = reg(mem.index())?;
        let address = Address {
            index: index.filter(|&reg| !is_vector(reg)).map(|reg| Index {
                reg,
                from_bits: 64,
                signed: false,
                scale,
            }),
            ..self.address(base, displacement, true)
        };
        let lanes = index.filter(|&reg| is_vector(reg)).map(|reg| (reg, scale));
        Ok(Operand::Mem { address, lanes, bytes: u16::from(operand.size) })
    }

    /// An address without index, as long as the prefixes say; `segmented`: FS and GS count.
    fn address(&self, base: Option<Reg>, displacement: i64, segmented: bool) -> Address {
        Address {
            base,
            index: None,
            displacement,
            segment: self.prefixes.segment.filter(|_| segmented),
            bits: self.prefixes.address_bits(),
            writeback: None,
        }
    }

    /// The stack is addressed with 64 bits and without segment, whatever the prefixes.
    fn stack(base: Reg, displacement: i64) -> Address {
        Address { base: Some(base), index: None, displacement, segment: None, bits: 64, writeback: None }
    }

    /// The digit of opcodes like `FF /3`.
    fn opcode_extension(&self) -> u8 {
        self.modrm >> 3 & 7
    }

    fn mask(&self) -> Option<Reg> {
        self.prefixes.evex.and_then(|evex| evex.mask)
    }

    fn run(&mut self, shape: &'static Shape) -> Result<(), Refusal> {
        self.shape = shape;
        if self.prefixes.lock && !shape.lockable {
            return Err("a lock prefix where there may be none");
        }
        match shape.form {
            Form::Plain => self.plain(shape.ops)?,
            Form::BitTest => self.bit_test()?,
            Form::Exchange => self.exchange()?,
            Form::CompareExchange => {
                self.plain(shape.ops)?;
                self.conditional();
            }
            Form::MoveScalar => match self.operands() {
                [Operand::Reg(_), Operand::Reg(_)] => self.plain(&[Op::RW, Op::R])?,
                _ => self.plain(&[Op::W, Op::R])?,
            },
            Form::Multiply => self.multiply()?,
            Form::Divide => {
                self.plain(&[Op::R])?;
                self.accumulators(true);
            }
            Form::Push | Form::Pop | Form::PushFlags | Form::PopFlags => self.push_or_pop()?,
            Form::Enter => self.enter()?,
            Form::Leave => {
                let bytes = self.prefixes.stack_bytes();
                self.access(AccessKind::Load, Self::stack(RBP, 0), Extent::Bytes(bytes.into()));
                self.writes(&[RSP, RBP]);
            }
            Form::Call | Form::Return | Form::Jump | Form::JumpIf | Form::Loop => self.branch()?,
            Form::Transaction => {
                self.effect.flow = Flow::Jump { target: self.target()?, conditional: true };
                self.effect.unit = Unit::BeginsTransaction;
            }
            Form::Syscall => self.effect.flow = Flow::Syscall,
            Form::Interrupt => {
                let linux = matches!(self.operands(), [Operand::Imm(0x80)]);
                self.effect.flow = if linux { Flow::Syscall } else { Flow::Trap };
            }
            Form::Trap => self.effect.flow = Flow::Trap,
            Form::String(op, element) => self.string(op, element),
            Form::StringOrVector(op, element, vector) => match self.prefixes.map {
                0 => self.string(op, element),
                _ => self.run(vector)?,
            },
            Form::Prefixed(prefix) => {
                let operand_size = self.prefixes.operand_size.then_some(0x66);
                if self.prefixes.repeat.or(operand_size) != Some(prefix) {
                    return Err("capstone takes it for another");
                }
                self.plain(shape.ops)?;
            }
            Form::Unprefixed => {
                if self.prefixes.repeat.is_some() {
                    return Err("capstone takes it for another");
                }
                self.plain(shape.ops)?;
            }
            Form::Translate => {
                let index = Index { reg: RAX, from_bits: 8, signed: false, scale: 1 };
                let address = Address { index: Some(index), ..self.address(Some(RBX), 0, true) };
                self.access(AccessKind::Load, address, Extent::Bytes(1));
                self.writes(&[RAX]);
            }
            Form::Gather(element, index) => self.gather(element, index)?,
            Form::Scatter(element, index) => self.scatter(element, index)?,
            Form::VectorMask(element) => self.vector_mask(element)?,
            Form::MaskMove => self.mask_move()?,
            Form::MoveLine => self.move_line()?,
        }
        Ok(())
    }

    fn reads(&mut self, regs: &[Reg]) {
        regs.iter().for_each(|&reg| self.effect.reads.insert(reg));
    }

    fn writes(&mut self, regs: &[Reg]) {
        regs.iter().for_each(|&reg| self.effect.writes.insert(reg));
    }

    fn address_is_read(&mut self, address: &Address) {
        let index = address.index.map(|index| index.reg);
        for reg in [address.base, index, address.segment].into_iter().flatten() {
            self.effect.reads.insert(reg);
        }
    }

    /// Adds a plain access that happens.
    fn access(&mut self, kind: AccessKind, address: Address, extent: Extent) {
        self.address_is_read(&address);
        self.effect.accesses.push(Access {
            kind,
            address,
            extent,
            order: Order::Relaxed,
            atomic: false,
            conditional: false,
            non_temporal: self.shape.non_temporal && kind == AccessKind::Store,
        });
    }

    /// The access added last may not happen.
    fn conditional(&mut self) {
        if let Some(access) = self.effect.accesses.last_mut() {
            access.conditional = true;
        }
    }

    /// The access added last is one event, and orders everything.
    fn locked(&mut self) {
        if let Some(access) = self.effect.accesses.last_mut() {
            access.kind = AccessKind::Rmw;
            access.order = Order::SeqCst;
            access.atomic = true;
        }
    }

    /// Reads and writes the operands as `ops` says.
    fn plain(&mut self, ops: &[Op]) -> Result<(), Refusal> {
        let merging = self.prefixes.evex.is_some_and(|evex| evex.mask.is_some() && !evex.zeroing)
            && !matches!(self.shape.masking, Masking::Blend(_));
        if let Some(mask) = self.mask() {
            self.reads(&[mask]);
        }
        for position in 0..self.count {
            let op = ops.get(position).copied();
            match self.operands[position] {
                Operand::Imm(_) => {}
                Operand::Reg(reg) => match op.ok_or("an operand that the table does not know")? {
                    Op::R => self.reads(&[reg]),
                    // A mask register is never merged: lanes left out of a compare become 0.
                    Op::W if merging && position == 0 && !is_mask(reg) => self.reads_and_writes(reg),
                    Op::W => self.writes_one(reg),
                    Op::RW | Op::Wm => self.reads_and_writes(reg),
                    Op::A | Op::E | Op::N => {}
                },
                Operand::Mem { address, lanes, bytes } => {
                    let kind = match op.ok_or("an operand that the table does not know")? {
                        Op::R => AccessKind::Load,
                        Op::W | Op::Wm => AccessKind::Store,
                        Op::RW => AccessKind::LoadStore,
                        Op::E => {
                            self.address_is_read(&Address { segment: None, ..address });
                            continue;
                        }
                        Op::A => {
                            self.address_is_read(&address);
                            if let Some((indices, _)) = lanes {
                                self.reads(&[indices]);
                            }
                            continue;
                        }
                        Op::N => continue,
                    };
                    if lanes.is_some() {
                        return Err("a vector index in an instruction that has none");
                    }
                    self.plain_memory(kind, address, bytes, position)?;
                }
            }
        }
        if self.prefixes.lock {
            match self.effect.accesses.last() {
                Some(access) if access.kind == AccessKind::LoadStore => self.locked(),
                _ => return Err("a lock prefix without memory to change"),
            }
            self.fence_idiom();
        }
        Ok(())
    }

    fn reads_and_writes(&mut self, reg: Reg) {
        self.reads(&[reg]);
        self.writes_one(reg);
    }

    fn writes_one(&mut self, reg: Reg) {
        self.writes(&[reg]);
        // Loading a selector loads its base.
        if reg == regs::selector(4) {
            self.writes(&[regs::FS_BASE]);
        } else if reg == regs::selector(5) {
            self.writes(&[regs::GS_BASE]);
        }
    }

    fn plain_memory(
        &mut self,
        kind: AccessKind,
        mut address: Address,
        operand: u16,
        position: usize,
    ) -> Result<(), Refusal> {
        let evex = self.prefixes.evex;
        let broadcast = evex.is_some_and(|evex| evex.broadcast);
        let bytes = match self.shape.width {
            Width::Operand => operand,
            Width::OperandSize => self.prefixes.operand_bytes().into(),
            Width::Fixed(bytes) => bytes,
            Width::Environment(bytes, small) => {
                if self.prefixes.operand_bytes() == 2 {
                    small
                } else {
                    bytes
                }
            }
            Width::AtMost(bytes) => {
                self.access(kind, address, Extent::AtMost(bytes));
                self.conditional();
                return Ok(());
            }
            Width::Broadcast(bytes) => {
                if broadcast {
                    bytes
                } else {
                    operand
                }
            }
        };
        if let Some(units) = evex.and_then(|evex| evex.displacement)
            && (matches!(self.shape.width, Width::Fixed(_))
                || matches!(self.shape.width, Width::Broadcast(_)) && broadcast)
        {
            address.displacement = i64::from(units) * i64::from(bytes);
        }
        if bytes == 0 || self.width_is_doubtful(bytes) {
            return Err("a memory operand of unknown width");
        }
        let Some(mask) = self.mask().map(Mask::Bits) else {
            self.access(kind, address, Extent::Bytes(bytes));
            return Ok(());
        };
        let by_lanes = |element: u8| {
            let lanes = u8::try_from(bytes / u16::from(element)).unwrap_or(0);
            Extent::Masked { element, lanes, mask }
        };
        let extent = match self.shape.masking {
            Masking::Never => return Err("a mask where there may be none"),
            Masking::Whole => {
                // A store still writes only what the mask says, but no such instruction stores.
                self.access(kind, address, Extent::Bytes(bytes));
                return Ok(());
            }
            Masking::Once => Extent::Bytes(bytes),
            _ if broadcast => Extent::Bytes(bytes),
            Masking::Lanes(element) | Masking::Blend(element) => by_lanes(element),
            Masking::LanesByW(element) => by_lanes(element << u8::from(self.prefixes.wide)),
            Masking::Compare => {
                let element = if self.prefixes.opcode & 0x20 == 0 { 4 } else { 1 };
                by_lanes(element << u8::from(self.prefixes.wide))
            }
            // `vpslld zmm1 {k1}, zmm2, [count]`, or `vpslld zmm1 {k1}, [values], 3`.
            Masking::Shift(_) if position == 2 => {
                self.access(kind, address, Extent::Bytes(bytes));
                return Ok(());
            }
            Masking::Shift(element) => by_lanes(element),
            Masking::Packed(element) => {
                let lanes = u8::try_from(bytes / u16::from(element)).unwrap_or(0);
                Extent::Packed { element, lanes, mask }
            }
        };
        self.access(kind, address, extent);
        self.conditional();
        Ok(())
    }

    /// Whether capstone may have missed that an integer operand is 16 bits wide: it does for opcodes 0F xx with
    /// both 66 and F2 or F3 (`66 f3 0f c1 03`, xadd).
    fn width_is_doubtful(&self, bytes: u16) -> bool {
        let Prefixes { encoding, map, operand_size, repeat, wide, .. } = self.prefixes;
        let vectors = self.operands().iter().any(|operand| match operand {
            Operand::Reg(reg) => is_vector(*reg),
            Operand::Mem { .. } | Operand::Imm(_) => false,
        });
        (encoding, map, bytes) == (Encoding::Legacy, 1, 4)
            && operand_size
            && repeat.is_some()
            && !wide
            && !vectors
    }

    /// `lock or [rsp], 0` changes nothing: compilers mean a full fence by it, and so do we.
    fn fence_idiom(&mut self) {
        if let [Operand::Mem { address, .. }, Operand::Imm(0)] = self.operands()
            && address.base == Some(RSP)
            // ADD, OR, SUB and XOR.
            && matches!(self.prefixes.opcode, 0x80..=0x83)
            && matches!(self.opcode_extension(), 0 | 1 | 5 | 6)
        {
            self.effect.fence = Some(Fence { order: Order::SeqCst });
        }
    }

    fn bit_test(&mut self) -> Result<(), Refusal> {
        self.plain(self.shape.ops)?;
        let offset = match self.operands() {
            [Operand::Mem { .. }, Operand::Reg(offset)] => *offset,
            _ => return Ok(()),
        };
        if let Some(access) = self.effect.accesses.last_mut()
            && let Extent::Bytes(bytes) = access.extent
        {
            access.extent = Extent::BitString { element: bytes as u8, offset };
        }
        Ok(())
    }

    fn exchange(&mut self) -> Result<(), Refusal> {
        // F3 90 is PAUSE; what it is with REX.B, manuals and processors do not agree on.
        if self.prefixes.opcode == 0x90 && self.prefixes.repeat == Some(0xf3) {
            return Err("a pause that may be an exchange");
        }
        self.plain(self.shape.ops)?;
        if !self.effect.accesses.is_empty() {
            self.locked();
        }
        Ok(())
    }

    fn multiply(&mut self) -> Result<(), Refusal> {
        match self.count {
            1 => {
                self.plain(&[Op::R])?;
                self.accumulators(false);
                Ok(())
            }
            2 => match self.operands() {
                [_, Operand::Imm(_)] => self.plain(&[Op::RW]),
                _ => self.plain(&[Op::RW, Op::R]),
            },
            _ => self.plain(&[Op::W, Op::R]),
        }
    }

    /// RAX, and RDX unless the operand is a byte: F6 is the byte form, F7 the others.
    fn accumulators(&mut self, dividend: bool) {
        self.reads(&[RAX]);
        self.writes(&[RAX]);
        if self.prefixes.opcode != 0xf6 {
            self.writes(&[RDX]);
            if dividend {
                self.reads(&[RDX]);
            }
        }
    }
}

fn is_vector(reg: Reg) -> bool {
    (regs::zmm(0)..=regs::zmm(31)).contains(&reg)
}

fn is_mask(reg: Reg) -> bool {
    (regs::mask(0)..=regs::mask(7)).contains(&reg)
}
