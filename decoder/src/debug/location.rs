//! Location expressions: constants that the compiler wrote down, and places to be looked up in a stopped thread.
//!
//! The evaluator is gimli's, fed from a [`Context`]. Unoptimised code needs little of it: the frame base, a
//! register plus an offset, a static address. What it needs beyond that (entry values, typed stacks, TLS) is an
//! [`EvalError`] that names it; an order is then unknown, never guessed.

use super::frames::Cfa;
use crate::image::Bytes;
use gimli::{Encoding, EvaluationResult, Expression, Location, Value};

/// The most steps of one expression.
const MAX_STEPS: u32 = 1000;

/// A stopped thread, as an expression sees it.
pub trait Context {
    /// A general register, in DWARF's numbering for the architecture.
    fn register(&self, dwarf: u16) -> Option<u64>;
    /// Fills the buffer from memory; false if it cannot be read.
    fn read(&self, addr: u64, buffer: &mut [u8]) -> bool;
    /// What is added to the image's addresses in this process.
    fn bias(&self) -> u64;
}

/// Why an expression has no value.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EvalError {
    /// A register's value is not known.
    #[error("register {0} (DWARF's number) is not known")]
    Register(u16),
    /// Memory could not be read.
    #[error("memory at {0:#x} cannot be read")]
    Memory(u64),
    /// The expression needs something that is not supported.
    #[error("unsupported in a location expression: {0}")]
    Unsupported(&'static str),
    /// The expression is malformed.
    #[error("malformed location expression: {0}")]
    Malformed(String),
}

impl From<gimli::Error> for EvalError {
    fn from(error: gimli::Error) -> EvalError {
        EvalError::Malformed(error.to_string())
    }
}

/// Where a variable is at one instruction, to be evaluated when a thread stops there.
#[derive(Clone, PartialEq, Debug)]
pub struct Lookup {
    pub(crate) expression: Bytes,
    pub(crate) encoding: Encoding,
    /// The function's `DW_AT_frame_base`.
    pub(crate) frame_base: Option<Bytes>,
    /// How the CFA is computed here.
    pub(crate) cfa: Option<Cfa>,
    /// Bytes of the variable, 1 to 8.
    pub(crate) size: u8,
    /// What is wanted is not the variable but the pointer that it points to.
    pub(crate) indirect: bool,
}

impl Lookup {
    /// The variable's value.
    pub fn value(&self, context: &dyn Context) -> Result<u64, EvalError> {
        let value = self.variable(context)?;
        if self.indirect { read(context, value, 8) } else { Ok(value) }
    }

    fn variable(&self, context: &dyn Context) -> Result<u64, EvalError> {
        let size = usize::from(self.size.clamp(1, 8));
        let mask = u64::MAX >> (64 - 8 * size);
        match self.run(&self.expression, context, true)? {
            Location::Address { address } => read(context, address, size),
            Location::Register { register } => {
                context.register(register.0).map(|value| value & mask).ok_or(EvalError::Register(register.0))
            }
            other => constant(other).map(|value| value & mask),
        }
    }

    fn run(
        &self,
        expression: &Bytes,
        context: &dyn Context,
        based: bool,
    ) -> Result<Location<Bytes>, EvalError> {
        let mut evaluation = Expression(expression.clone()).evaluation(self.encoding);
        evaluation.set_max_iterations(MAX_STEPS);
        let mut state = evaluation.evaluate()?;
        loop {
            state = match state {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresMemory { address, size, .. } => {
                    let value = read(context, address, usize::from(size.clamp(1, 8)))?;
                    evaluation.resume_with_memory(Value::Generic(value))?
                }
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = context.register(register.0).ok_or(EvalError::Register(register.0))?;
                    evaluation.resume_with_register(Value::Generic(value))?
                }
                EvaluationResult::RequiresFrameBase if based => {
                    evaluation.resume_with_frame_base(self.frame_base(context)?)?
                }
                EvaluationResult::RequiresCallFrameCfa => {
                    evaluation.resume_with_call_frame_cfa(self.frame_address(context)?)?
                }
                EvaluationResult::RequiresRelocatedAddress(address) => {
                    evaluation.resume_with_relocated_address(address.wrapping_add(context.bias()))?
                }
                EvaluationResult::RequiresFrameBase => {
                    return Err(EvalError::Unsupported("a frame base of itself"));
                }
                EvaluationResult::RequiresTls(_) => {
                    return Err(EvalError::Unsupported("thread-local storage"));
                }
                EvaluationResult::RequiresEntryValue(_) => {
                    return Err(EvalError::Unsupported("an entry value"));
                }
                EvaluationResult::RequiresIndexedAddress { .. } => {
                    return Err(EvalError::Unsupported("an indexed address"));
                }
                _ => return Err(EvalError::Unsupported("a rare operation")),
            };
        }
        single(evaluation.as_result())
    }

    fn frame_base(&self, context: &dyn Context) -> Result<u64, EvalError> {
        let base = self.frame_base.as_ref().ok_or(EvalError::Unsupported("no frame base"))?;
        match self.run(base, context, false)? {
            Location::Address { address } => Ok(address),
            Location::Register { register } => {
                context.register(register.0).ok_or(EvalError::Register(register.0))
            }
            other => constant(other),
        }
    }

    fn frame_address(&self, context: &dyn Context) -> Result<u64, EvalError> {
        let cfa = self.cfa.ok_or(EvalError::Unsupported("no frame description"))?;
        let register = context.register(cfa.register).ok_or(EvalError::Register(cfa.register))?;
        Ok(register.wrapping_add_signed(cfa.offset))
    }

    /// If the value is an address in the frame that is known without a thread (`this` of an object on the
    /// stack): its distance from the CFA.
    pub(crate) fn frame_offset(&self) -> Option<i64> {
        match self.pretend()? {
            Location::Value { value: Value::Generic(value) } if !self.indirect => distance(value),
            _ => None,
        }
    }

    /// If the variable lies in the frame: its distance from the CFA.
    pub(crate) fn frame_slot(&self) -> Option<i64> {
        match self.pretend()? {
            Location::Address { address } => distance(address),
            _ => None,
        }
    }

    /// Evaluates as far as the CFA alone allows, with the CFA at [`BASE`].
    fn pretend(&self) -> Option<Location<Bytes>> {
        struct Pretend(Cfa);
        impl Context for Pretend {
            fn register(&self, dwarf: u16) -> Option<u64> {
                (dwarf == self.0.register).then(|| BASE.wrapping_sub(self.0.offset as u64))
            }
            fn read(&self, _: u64, _: &mut [u8]) -> bool {
                false
            }
            fn bias(&self) -> u64 {
                0
            }
        }
        self.run(&self.expression, &Pretend(self.cfa?), true).ok()
    }

    /// Whether the variable itself lies in memory here (else in a register, or it is only a value).
    pub(crate) fn in_memory(&self) -> bool {
        let mut operations = Expression(self.expression.clone()).operations(self.encoding);
        let mut memory = true;
        for _ in 0..MAX_STEPS {
            match operations.next() {
                Ok(Some(
                    gimli::Operation::Register { .. }
                    | gimli::Operation::StackValue
                    | gimli::Operation::ImplicitValue { .. }
                    | gimli::Operation::ImplicitPointer { .. },
                )) => memory = false,
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        memory
    }
}

/// Where [`Lookup::pretend`] has the CFA: far from 0, from overflow, and from every address of an image.
const BASE: u64 = 1 << 60;

/// The distance from the pretended CFA, unless it is too far to be in a frame.
fn distance(addr: u64) -> Option<i64> {
    let distance = addr.wrapping_sub(BASE) as i64;
    (distance.unsigned_abs() < 1 << 32).then_some(distance)
}

/// The value of an expression that needs no thread.
pub(crate) fn constant_of(expression: &Bytes, encoding: Encoding) -> Option<u64> {
    let mut evaluation = Expression(expression.clone()).evaluation(encoding);
    evaluation.set_max_iterations(MAX_STEPS);
    match evaluation.evaluate() {
        Ok(EvaluationResult::Complete) => constant(single(evaluation.as_result()).ok()?).ok(),
        _ => None,
    }
}

fn single(pieces: &[gimli::Piece<Bytes>]) -> Result<Location<Bytes>, EvalError> {
    match pieces {
        [piece] if piece.size_in_bits.is_none() => Ok(piece.location.clone()),
        _ => Err(EvalError::Unsupported("a variable in pieces")),
    }
}

fn constant(location: Location<Bytes>) -> Result<u64, EvalError> {
    match location {
        Location::Value { value } => value.to_u64(u64::MAX).map_err(EvalError::from),
        Location::Bytes { value } => {
            let bytes = value.bytes();
            let mut word = [0; 8];
            let len = bytes.len().min(8);
            word[..len].copy_from_slice(&bytes[..len]);
            Ok(u64::from_le_bytes(word))
        }
        Location::Empty => Err(EvalError::Unsupported("optimised away")),
        Location::ImplicitPointer { .. } => Err(EvalError::Unsupported("an implicit pointer")),
        Location::Address { .. } | Location::Register { .. } => Err(EvalError::Unsupported("not a constant")),
    }
}

fn read(context: &dyn Context, addr: u64, size: usize) -> Result<u64, EvalError> {
    let mut word = [0; 8];
    if context.read(addr, &mut word[..size]) {
        Ok(u64::from_le_bytes(word))
    } else {
        Err(EvalError::Memory(addr))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gimli::{Format, LittleEndian};
    use std::sync::Arc;

    const ENCODING: Encoding = Encoding { format: Format::Dwarf32, version: 5, address_size: 8 };

    struct Thread;
    impl Context for Thread {
        fn register(&self, dwarf: u16) -> Option<u64> {
            (dwarf < 16).then(|| 0x1000 + u64::from(dwarf))
        }
        fn read(&self, addr: u64, buffer: &mut [u8]) -> bool {
            buffer.fill(0);
            buffer[0] = addr as u8;
            addr != 0
        }
        fn bias(&self) -> u64 {
            0x5000
        }
    }

    fn bytes(bytes: &[u8]) -> Bytes {
        Bytes::new(Arc::from(bytes), LittleEndian)
    }

    fn lookup(expression: &[u8], frame_base: Option<&[u8]>) -> Lookup {
        Lookup {
            expression: bytes(expression),
            encoding: ENCODING,
            frame_base: frame_base.map(bytes),
            cfa: Some(Cfa { register: 7, offset: 8 }),
            size: 4,
            indirect: false,
        }
    }

    #[test]
    fn constants_need_no_thread() {
        assert_eq!(constant_of(&bytes(&[0x32, 0x9f]), ENCODING), Some(2), "lit2 stack_value");
        assert_eq!(constant_of(&bytes(&[0x10, 5, 0x9f]), ENCODING), Some(5), "constu 5 stack_value");
        assert_eq!(constant_of(&bytes(&[0x9e, 1, 3]), ENCODING), Some(3), "implicit_value");
        assert_eq!(constant_of(&bytes(&[0x55]), ENCODING), None, "reg5");
        assert_eq!(constant_of(&bytes(&[0x32]), ENCODING), None, "the address 2 is no constant");
        assert_eq!(constant_of(&bytes(&[]), ENCODING), None, "optimised away");
    }

    #[test]
    fn places_of_unoptimised_code() {
        // fbreg -12, frame base in rbp (clang): 0x1006 - 12 = 0xffa.
        assert_eq!(lookup(&[0x91, 0x74], Some(&[0x56])).value(&Thread), Ok(0xfa));
        // fbreg -28, frame base call_frame_cfa (g++): 0x1007 + 8 - 28 = 0xff3.
        assert_eq!(lookup(&[0x91, 0x64], Some(&[0x9c])).value(&Thread), Ok(0xf3));
        // A register, narrowed to the variable.
        assert_eq!(lookup(&[0x54], None).value(&Thread), Ok(0x1004));
        // A static variable, where it was loaded: addr 0x10.
        assert_eq!(lookup(&[0x03, 0x10, 0, 0, 0, 0, 0, 0, 0], None).value(&Thread), Ok(0x10));
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(lookup(&[0x91, 0], None).value(&Thread), Err(EvalError::Unsupported("no frame base")));
        assert_eq!(lookup(&[0x60], None).value(&Thread), Err(EvalError::Register(16)));
        assert_eq!(
            lookup(&[0x91, 0], Some(&[0x91, 0])).value(&Thread),
            Err(EvalError::Unsupported("a frame base of itself"))
        );
        // skip -3: for ever.
        assert!(matches!(lookup(&[0x2f, 0xfd, 0xff], None).value(&Thread), Err(EvalError::Malformed(_))));
    }

    #[test]
    fn objects_on_the_stack_are_known_without_a_thread() {
        // breg7 12, stack_value: rsp + 12 = CFA - 8 + 12.
        assert_eq!(lookup(&[0x77, 12, 0x9f], None).frame_offset(), Some(4));
        assert_eq!(lookup(&[0x91, 0x64, 0x9f], Some(&[0x9c])).frame_offset(), Some(-28));
        assert_eq!(lookup(&[0x75, 0, 0x9f], None).frame_offset(), None, "rdi is anywhere");
        assert_eq!(lookup(&[0x91, 0x64], Some(&[0x9c])).frame_slot(), Some(-28), "a variable of the frame");
        assert_eq!(lookup(&[0x91, 0x64], Some(&[0x9c])).frame_offset(), None, "whose value is anywhere");
        assert_eq!(lookup(&[0x75, 0], None).frame_slot(), None);
        assert!(lookup(&[0x91, 0x64], None).in_memory() && !lookup(&[0x55], None).in_memory());
    }
}
