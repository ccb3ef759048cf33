//! A little x86-64 machine: runs one test function and tells which instruction touches which address. It knows the
//! integer instructions that compilers make of atomics; what it does not know stops it, loudly.

use super::effects;
use iced_x86::{ConditionCode, Instruction, Mnemonic, OpKind, Register};
use std::collections::HashMap;
use wmtrace_decoder::debug::Context;
use wmtrace_decoder::effect::Arch;
use wmtrace_decoder::image::Image;
use wmtrace_decoder::orders::dwarf_register;

/// Where the atomic object is.
pub(crate) const OBJECT: u64 = 0x7000_0000;
/// Where the expected value is.
pub(crate) const EXPECTED: u64 = 0x7100_0000;
const STACK: u64 = 0x7fff_0000;
/// The return address of the function under test.
const HOME: u64 = 0xdead_0000;
const MAX_STEPS: usize = 5000;

pub(crate) struct Machine<'a> {
    image: &'a Image,
    data: Vec<(u64, Vec<u8>)>,
    memory: HashMap<u64, u8>,
    pub(crate) regs: [u64; 16],
    zero: bool,
    sign: bool,
    carry: bool,
    overflow: bool,
}

impl Context for Machine<'_> {
    fn register(&self, dwarf: u16) -> Option<u64> {
        dwarf_register(Arch::X86_64, dwarf).map(|reg| self.regs[usize::from(reg.0)])
    }
    fn read(&self, addr: u64, buffer: &mut [u8]) -> bool {
        for (at, byte) in buffer.iter_mut().enumerate() {
            *byte = self.byte(addr + at as u64);
        }
        true
    }
    fn bias(&self) -> u64 {
        0
    }
}

impl<'a> Machine<'a> {
    pub(crate) fn new(image: &'a Image) -> Machine<'a> {
        let data = [".rodata", ".data.rel.ro", ".got"]
            .into_iter()
            .filter_map(|name| Some((image.section_range(name)?.0, image.section(name)?.bytes().to_vec())))
            .collect();
        let mut regs = [0; 16];
        regs[7] = OBJECT;
        regs[6] = EXPECTED;
        regs[2] = 1;
        regs[4] = STACK;
        let (zero, sign, carry, overflow) = (false, false, false, false);
        let mut machine = Machine { image, data, memory: HashMap::new(), regs, zero, sign, carry, overflow };
        machine.push(HOME);
        machine
    }

    /// Runs from `pc` until the function returns; `before` sees every instruction before it happens.
    pub(crate) fn run(
        &mut self,
        mut pc: u64,
        before: &mut dyn FnMut(&Machine<'_>, u64, &Instruction),
    ) -> Result<(), String> {
        for _ in 0..MAX_STEPS {
            if pc == HOME {
                return Ok(());
            }
            let bytes = self.image.code_at(pc).ok_or_else(|| format!("no code at {pc:#x}"))?;
            let instruction = effects::decode(pc, bytes).ok_or_else(|| format!("bad code at {pc:#x}"))?;
            before(self, pc, &instruction);
            pc = self
                .step(&instruction)
                .ok_or_else(|| format!("{pc:#x}: {:?} is not emulated", instruction.mnemonic()))?;
        }
        Err("endless".into())
    }

    fn byte(&self, addr: u64) -> u8 {
        if let Some(&byte) = self.memory.get(&addr) {
            return byte;
        }
        let inside = |(start, bytes): &(u64, Vec<u8>)| {
            bytes.get(usize::try_from(addr.checked_sub(*start)?).ok()?).copied()
        };
        self.data.iter().find_map(inside).unwrap_or(0)
    }

    fn load(&self, addr: u64, size: usize) -> u64 {
        (0..size.min(8))
            .rev()
            .fold(0, |word, at| word << 8 | u64::from(self.byte(addr.wrapping_add(at as u64))))
    }

    fn store(&mut self, addr: u64, size: usize, value: u64) {
        for at in 0..size.min(8) {
            self.memory.insert(addr.wrapping_add(at as u64), (value >> (8 * at)) as u8);
        }
    }

    fn push(&mut self, value: u64) {
        self.regs[4] -= 8;
        self.store(self.regs[4], 8, value);
    }

    fn pop(&mut self) -> u64 {
        self.regs[4] += 8;
        self.load(self.regs[4] - 8, 8)
    }

    /// The address of an instruction's memory operand.
    pub(crate) fn address(&self, instruction: &Instruction) -> u64 {
        if instruction.is_ip_rel_memory_operand() {
            return instruction.ip_rel_memory_address();
        }
        let value = |register: Register| match register {
            Register::None => 0,
            register => self.regs[register.full_register().number()],
        };
        let index =
            value(instruction.memory_index()).wrapping_mul(u64::from(instruction.memory_index_scale()));
        value(instruction.memory_base()).wrapping_add(index).wrapping_add(instruction.memory_displacement64())
    }

    fn register(&self, register: Register) -> u64 {
        let value = self.regs[register.full_register().number()];
        match register {
            Register::AH | Register::BH | Register::CH | Register::DH => value >> 8 & 0xff,
            _ => value & mask(register.size()),
        }
    }

    fn set(&mut self, register: Register, value: u64) {
        let slot = &mut self.regs[register.full_register().number()];
        *slot = match register.size() {
            8 => value,
            4 => value & mask(4),
            size => *slot & !mask(size) | value & mask(size),
        };
    }

    fn size(instruction: &Instruction, operand: u32) -> usize {
        match instruction.op_kind(operand) {
            OpKind::Register => instruction.op_register(operand).size(),
            OpKind::Memory => instruction.memory_size().size(),
            _ if operand > 0 => Machine::size(instruction, 0),
            _ => 8,
        }
    }

    fn get(&self, instruction: &Instruction, operand: u32) -> Option<u64> {
        match instruction.op_kind(operand) {
            OpKind::Register if instruction.op_register(operand).is_gpr() => {
                Some(self.register(instruction.op_register(operand)))
            }
            OpKind::Memory => Some(self.load(self.address(instruction), instruction.memory_size().size())),
            OpKind::Register => None,
            _ => instruction.try_immediate(operand).ok(),
        }
    }

    fn put(&mut self, instruction: &Instruction, operand: u32, value: u64) -> Option<()> {
        match instruction.op_kind(operand) {
            OpKind::Register if instruction.op_register(operand).is_gpr() => {
                self.set(instruction.op_register(operand), value);
                Some(())
            }
            OpKind::Memory => {
                self.store(self.address(instruction), instruction.memory_size().size(), value);
                Some(())
            }
            _ => None,
        }
    }

    fn logic(&mut self, value: u64, size: usize) -> u64 {
        self.zero = value & mask(size) == 0;
        self.sign = value >> (8 * size - 1) & 1 == 1;
        (self.carry, self.overflow) = (false, false);
        value & mask(size)
    }

    fn add(&mut self, a: u64, b: u64, size: usize) -> u64 {
        let sum = self.logic(a.wrapping_add(b), size);
        self.carry = sum < a & mask(size);
        self.overflow = (a ^ sum) & (b ^ sum) & sign(size) != 0;
        sum
    }

    fn sub(&mut self, a: u64, b: u64, size: usize) -> u64 {
        let difference = self.logic(a.wrapping_sub(b), size);
        self.carry = a & mask(size) < b & mask(size);
        self.overflow = (a ^ b) & (a ^ difference) & sign(size) != 0;
        difference
    }

    fn holds(&self, condition: ConditionCode) -> bool {
        match condition {
            ConditionCode::None => true,
            ConditionCode::o => self.overflow,
            ConditionCode::no => !self.overflow,
            ConditionCode::b => self.carry,
            ConditionCode::ae => !self.carry,
            ConditionCode::e => self.zero,
            ConditionCode::ne => !self.zero,
            ConditionCode::be => self.carry || self.zero,
            ConditionCode::a => !self.carry && !self.zero,
            ConditionCode::s => self.sign,
            ConditionCode::ns => !self.sign,
            ConditionCode::p | ConditionCode::np => false,
            ConditionCode::l => self.sign != self.overflow,
            ConditionCode::ge => self.sign == self.overflow,
            ConditionCode::le => self.zero || self.sign != self.overflow,
            ConditionCode::g => !self.zero && self.sign == self.overflow,
        }
    }

    /// Does one instruction; where it goes, or `None` if it is not known.
    fn step(&mut self, i: &Instruction) -> Option<u64> {
        let next = i.next_ip();
        let size = if i.op_count() > 0 { Machine::size(i, 0) } else { 8 };
        match i.mnemonic() {
            Mnemonic::Nop | Mnemonic::Endbr64 | Mnemonic::Mfence => {}
            Mnemonic::Mov | Mnemonic::Movzx => self.put(i, 0, self.get(i, 1)?)?,
            Mnemonic::Movsx | Mnemonic::Movsxd => {
                let from = Machine::size(i, 1);
                let shift = 64 - 8 * from;
                self.put(i, 0, ((self.get(i, 1)? << shift) as i64 >> shift) as u64)?;
            }
            Mnemonic::Cdqe => self.regs[0] = self.regs[0] as i32 as i64 as u64,
            Mnemonic::Lea => self.put(i, 0, self.address(i))?,
            Mnemonic::Push => self.push(self.get(i, 0)?),
            Mnemonic::Pop => {
                let value = self.pop();
                self.put(i, 0, value)?;
            }
            Mnemonic::Leave => {
                self.regs[4] = self.regs[5];
                self.regs[5] = self.pop();
            }
            Mnemonic::Add => {
                let value = self.add(self.get(i, 0)?, self.get(i, 1)?, size);
                self.put(i, 0, value)?;
            }
            Mnemonic::Sub => {
                let value = self.sub(self.get(i, 0)?, self.get(i, 1)?, size);
                self.put(i, 0, value)?;
            }
            Mnemonic::Cmp => {
                self.sub(self.get(i, 0)?, self.get(i, 1)?, size);
            }
            Mnemonic::Inc => {
                let value = self.add(self.get(i, 0)?, 1, size);
                self.put(i, 0, value)?;
            }
            Mnemonic::Dec => {
                let value = self.sub(self.get(i, 0)?, 1, size);
                self.put(i, 0, value)?;
            }
            Mnemonic::Neg => {
                let value = self.sub(0, self.get(i, 0)?, size);
                self.put(i, 0, value)?;
            }
            Mnemonic::Not => self.put(i, 0, !self.get(i, 0)?)?,
            Mnemonic::And | Mnemonic::Or | Mnemonic::Xor | Mnemonic::Test => {
                let (a, b) = (self.get(i, 0)?, self.get(i, 1)?);
                let value = match i.mnemonic() {
                    Mnemonic::Or => a | b,
                    Mnemonic::Xor => a ^ b,
                    _ => a & b,
                };
                let value = self.logic(value, size);
                if i.mnemonic() != Mnemonic::Test {
                    self.put(i, 0, value)?;
                }
            }
            Mnemonic::Shl | Mnemonic::Shr => {
                let (a, by) = (self.get(i, 0)?, self.get(i, 1)? & 63);
                let value = if i.mnemonic() == Mnemonic::Shl { a << by } else { a >> by };
                let value = self.logic(value, size);
                self.put(i, 0, value)?;
            }
            Mnemonic::Xchg => {
                let (a, b) = (self.get(i, 0)?, self.get(i, 1)?);
                self.put(i, 0, b)?;
                self.put(i, 1, a)?;
            }
            Mnemonic::Xadd => {
                let (a, b) = (self.get(i, 0)?, self.get(i, 1)?);
                let sum = self.add(a, b, size);
                self.put(i, 1, a)?;
                self.put(i, 0, sum)?;
            }
            Mnemonic::Cmpxchg => {
                let (memory, rax) = (self.get(i, 0)?, self.regs[0] & mask(size));
                self.sub(rax, memory, size);
                if self.zero {
                    self.put(i, 0, self.get(i, 1)?)?;
                } else {
                    self.regs[0] = if size < 4 { self.regs[0] & !mask(size) | memory } else { memory };
                }
            }
            Mnemonic::Jmp if i.op_kind(0) == OpKind::NearBranch64 => return Some(i.near_branch_target()),
            Mnemonic::Jmp => return self.get(i, 0),
            Mnemonic::Call => {
                let target = if i.op_kind(0) == OpKind::NearBranch64 {
                    i.near_branch_target()
                } else {
                    self.get(i, 0)?
                };
                self.push(next);
                return Some(target);
            }
            Mnemonic::Ret => return Some(self.pop()),
            _ if i.is_jcc_short_or_near() => {
                return Some(if self.holds(i.condition_code()) { i.near_branch_target() } else { next });
            }
            _ if i.condition_code() != ConditionCode::None && i.op_count() == 1 => {
                let value = u64::from(self.holds(i.condition_code()));
                self.put(i, 0, value)?;
            }
            _ if i.condition_code() != ConditionCode::None && i.op_count() == 2 => {
                let operand = u32::from(self.holds(i.condition_code()));
                let value = self.get(i, operand)?;
                self.put(i, 0, value)?;
            }
            _ => return None,
        }
        Some(next)
    }
}

fn mask(size: usize) -> u64 {
    u64::MAX >> (64 - 8 * size.clamp(1, 8))
}

fn sign(size: usize) -> u64 {
    1 << (8 * size.clamp(1, 8) - 1)
}
