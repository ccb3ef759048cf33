//! A recorded execution: every choice, in a form that can be written to a file and replayed.
//!
//! The bytes are: the magic number (8), the format's version (2, little-endian like all that follows), the
//! payload's length (8), the payload (postcard), and the CRC-32 of all that came before (4). Equal recordings
//! have equal bytes. Reading trusts nothing: every damage is an error, not a panic, and no length is believed
//! before the bytes are there (postcard's sequences reserve at most a mebibyte ahead).
//!
//! A recording is of one program under one model: [`Recording::check`] refuses others. What identifies a
//! program, and what its options mean, is the caller's business.

use crate::op::{Agent, MAX_WIDTH, ModelKind, Op};
use crate::order::Order;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The first bytes. The last two notice a transfer as text.
const MAGIC: [u8; 8] = *b"wmtrec\r\n";

/// The version that this code writes and reads.
const VERSION: u16 = 1;

/// The bytes before the payload.
const HEADER: usize = MAGIC.len() + size_of::<u16>() + size_of::<u64>();

/// The choices of an execution, and of which program under which model.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Recording {
    /// The program, as the caller identifies it.
    pub identity: String,
    /// The model.
    pub model: ModelKind,
    /// The options that the execution depends on, as the caller writes them.
    pub options: String,
    /// The seed that led to the execution. Nothing depends on it: the choices are all here.
    pub seed: u64,
    /// The steps, in order.
    pub steps: Vec<StepRecord>,
    /// The choices within the steps, in order.
    pub values: Vec<ValueRecord>,
}

/// A step: who acted, and what it did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StepRecord {
    /// Who.
    pub agent: Agent,
    /// What, as [`fingerprint`] sees it.
    pub fingerprint: u16,
    /// How many elements of [`Recording::values`] belong to the step: usually none.
    pub values: u32,
}

/// A choice within a step: the store read, the place in modification order, the sleeper woken, or whether a weak
/// compare-and-swap failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ValueRecord {
    /// How many alternatives there were: two or more.
    pub count: u32,
    /// Which was taken, from 0.
    pub chosen: u32,
}

/// Why a recording cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecordingError {
    /// The bytes are something else.
    #[error("not a wmtrace recording")]
    NotARecording,
    /// Written by another version of wmtrace.
    #[error(
        "the recording has format version {found}, of {} wmtrace than this one, which reads version {readable}",
        if found > readable { "a newer" } else { "an older" }
    )]
    OtherVersion {
        /// The version in the bytes.
        found: u16,
        /// The version that this code reads.
        readable: u16,
    },
    /// The end is missing.
    #[error("the recording is truncated")]
    Truncated,
    /// The bytes are not those that were written.
    #[error("the recording is damaged")]
    Damaged,
    /// Not of the program at hand.
    #[error("recorded from another program: `{recorded}`, not `{given}`")]
    OtherProgram {
        /// The recorded identity.
        recorded: String,
        /// The identity of the program at hand.
        given: String,
    },
    /// Not under the model at hand.
    #[error("recorded under the model {recorded}, not {given}")]
    OtherModel {
        /// The recorded model.
        recorded: ModelKind,
        /// The model at hand.
        given: ModelKind,
    },
}

impl Recording {
    /// A recording without any step.
    pub fn new(identity: &str, model: ModelKind, options: &str, seed: u64) -> Recording {
        Recording {
            identity: identity.to_string(),
            model,
            options: options.to_string(),
            seed,
            steps: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Whether this is a recording of the program `identity` under `model`.
    ///
    /// # Errors
    /// What differs.
    pub fn check(&self, identity: &str, model: ModelKind) -> Result<(), RecordingError> {
        if self.identity != identity {
            let (recorded, given) = (self.identity.clone(), identity.to_string());
            return Err(RecordingError::OtherProgram { recorded, given });
        }
        if self.model != model {
            return Err(RecordingError::OtherModel { recorded: self.model, given: model });
        }
        Ok(())
    }

    /// The recording as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend([0; size_of::<u64>()]);
        let mut bytes = postcard::to_extend(self, bytes).expect("plain data, and memory grows");
        let length = (bytes.len() - HEADER) as u64;
        bytes[HEADER - size_of::<u64>()..HEADER].copy_from_slice(&length.to_le_bytes());
        let checksum = crc32fast::hash(&bytes);
        bytes.extend(checksum.to_le_bytes());
        bytes
    }

    /// The recording that [`Recording::to_bytes`] wrote.
    ///
    /// # Errors
    /// When it did not write these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Recording, RecordingError> {
        use RecordingError::{Damaged, NotARecording, OtherVersion, Truncated};
        let Some(rest) = bytes.strip_prefix(&MAGIC) else {
            return Err(if MAGIC.starts_with(bytes) { Truncated } else { NotARecording });
        };
        let (version, rest) = rest.split_first_chunk().ok_or(Truncated)?;
        let found = u16::from_le_bytes(*version);
        if found != VERSION {
            return Err(OtherVersion { found, readable: VERSION });
        }
        let (length, rest) = rest.split_first_chunk().ok_or(Truncated)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| Truncated)?;
        let (payload, rest) = rest.split_at_checked(length).ok_or(Truncated)?;
        let (checksum, after) = rest.split_first_chunk().ok_or(Truncated)?;
        if !after.is_empty() || u32::from_le_bytes(*checksum) != crc32fast::hash(&bytes[..HEADER + length]) {
            return Err(Damaged);
        }
        // A right checksum is no proof of good will: the payload is judged as well.
        match postcard::take_from_bytes::<Recording>(payload) {
            Ok((recording, [])) if recording.is_coherent() => Ok(recording),
            Ok(_) | Err(_) => Err(Damaged),
        }
    }

    /// Whether the parts fit together, as those that a recorder wrote do.
    fn is_coherent(&self) -> bool {
        let due: u64 = self.steps.iter().map(|step| u64::from(step.values)).sum();
        due == self.values.len() as u64
            && self.values.iter().all(|value| value.count >= 2 && value.chosen < value.count)
            && self.steps.iter().all(|step| match step.agent {
                Agent::Thread(_) => true,
                Agent::Buffer(_, at) => {
                    (1..=MAX_WIDTH).contains(&at.width) && at.addr.0.checked_add(at.width.into()).is_some()
                }
            })
    }
}

/// What a replay compares of an operation: its kind, place and orders, but no values and no site. 16 bits are
/// enough: a replay that has left its recording soon differs in more than one step.
pub fn fingerprint(op: &Op) -> u16 {
    let hash = match *op {
        Op::Load { order, .. } => Fnv::new(0).order(order),
        Op::Store { order, .. } => Fnv::new(1).order(order),
        Op::Rmw { order, .. } => Fnv::new(2).order(order),
        Op::Cas { order, failure, weak, .. } => {
            Fnv::new(3).order(order).order(failure).bytes(&[u8::from(weak)])
        }
        Op::Fence { order } => Fnv::new(4).order(order),
        Op::Wait { .. } => Fnv::new(5),
        Op::Wake { count, .. } => Fnv::new(6).bytes(&count.to_le_bytes()),
        Op::Join { child } => Fnv::new(7).bytes(&child.0.to_le_bytes()),
        Op::Sync { .. } => Fnv::new(8),
        Op::Yield => Fnv::new(9),
    };
    let hash = match op.place() {
        Some(at) => hash.bytes(&at.addr.0.to_le_bytes()).bytes(&[at.width]),
        None => hash,
    };
    let Fnv(wide) = hash;
    (wide ^ wide >> 16 ^ wide >> 32 ^ wide >> 48) as u16
}

/// The FNV-1a hash: small, and the same everywhere and for ever, which the standard hashers do not promise.
struct Fnv(u64);

impl Fnv {
    /// The hash of an operation's kind.
    const fn new(kind: u8) -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325).bytes(&[kind])
    }

    const fn order(self, order: Order) -> Fnv {
        self.bytes(&[order as u8])
    }

    const fn bytes(mut self, bytes: &[u8]) -> Fnv {
        let mut index = 0;
        while index < bytes.len() {
            self.0 = (self.0 ^ bytes[index] as u64).wrapping_mul(0x0000_0100_0000_01b3);
            index += 1;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{Addr, Place, ThreadId};
    use alloc::vec;

    fn sample() -> Recording {
        let mut recording = Recording::new("litmus:MP", ModelKind::Pso, "--loops 3", 42);
        let at = Place::new(Addr(0x1000), 4);
        let load = Op::Load { at, order: Order::Acquire };
        let store = Op::Store { at, order: Order::Relaxed };
        recording.steps = vec![
            StepRecord { agent: Agent::Thread(ThreadId(0)), fingerprint: fingerprint(&store), values: 0 },
            StepRecord { agent: Agent::Buffer(ThreadId(0), at), fingerprint: fingerprint(&store), values: 0 },
            StepRecord { agent: Agent::Thread(ThreadId(1)), fingerprint: fingerprint(&load), values: 2 },
        ];
        recording.values = vec![ValueRecord { count: 3, chosen: 2 }, ValueRecord { count: 2, chosen: 0 }];
        recording
    }

    /// The payload in a well-formed envelope.
    fn seal(payload: &[u8]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((payload.len() as u64).to_le_bytes());
        bytes.extend(payload);
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }

    #[test]
    fn bytes_and_back() {
        let bytes = sample().to_bytes();
        assert_eq!(Recording::from_bytes(&bytes), Ok(sample()));
        assert_eq!(sample().to_bytes(), bytes);
        assert_eq!(seal(&postcard::to_allocvec(&sample()).unwrap()), bytes);
    }

    /// A step without choices costs few bytes: a hundred thousand events are half a megabyte.
    #[test]
    fn steps_are_small() {
        let mut recording = sample();
        let before = recording.to_bytes().len();
        recording.steps.extend([recording.steps[0]; 100]);
        assert!(recording.to_bytes().len() - before <= 600);
    }

    /// CRC-32 notices every change of up to 32 bits in a row.
    #[test]
    fn every_damaged_byte_is_noticed() {
        let bytes = sample().to_bytes();
        for index in 0..bytes.len() {
            for change in 1..=255 {
                let mut bytes = bytes.clone();
                bytes[index] ^= change;
                let error = Recording::from_bytes(&bytes).expect_err("damage at one byte");
                match index {
                    0..8 => assert_eq!(error, RecordingError::NotARecording),
                    8..10 => assert!(matches!(error, RecordingError::OtherVersion { readable: 1, .. })),
                    10..18 => assert!(matches!(error, RecordingError::Truncated | RecordingError::Damaged)),
                    _ => assert_eq!(error, RecordingError::Damaged),
                }
            }
        }
    }

    #[test]
    fn every_truncation_is_noticed() {
        let mut bytes = sample().to_bytes();
        for length in 0..bytes.len() {
            assert_eq!(Recording::from_bytes(&bytes[..length]), Err(RecordingError::Truncated), "{length}");
        }
        bytes.push(0);
        assert_eq!(Recording::from_bytes(&bytes), Err(RecordingError::Damaged), "something after the end");
        assert_eq!(Recording::from_bytes(b"#!/bin/sh"), Err(RecordingError::NotARecording));
    }

    /// A sealed payload that claims 2^60 steps: reserving for them would abort the test.
    #[test]
    fn huge_lengths_are_not_believed() {
        let huge = postcard::to_allocvec(&(1u64 << 60)).unwrap();
        let head = postcard::to_allocvec(&("", ModelKind::Sc, "", 0u64)).unwrap();
        let steps = [&head[..], &huge].concat();
        assert_eq!(Recording::from_bytes(&seal(&steps)), Err(RecordingError::Damaged));
        assert_eq!(Recording::from_bytes(&seal(&huge)), Err(RecordingError::Damaged), "a name of 2^60 bytes");
        let mut length = sample().to_bytes();
        length[10..18].fill(0xff);
        assert_eq!(Recording::from_bytes(&length), Err(RecordingError::Truncated));
    }

    /// Well-formed, but nothing that a recorder writes.
    #[test]
    fn incoherent_recordings_are_refused() {
        let refused = |spoil: fn(&mut Recording)| {
            let mut recording = sample();
            spoil(&mut recording);
            assert_eq!(Recording::from_bytes(&recording.to_bytes()), Err(RecordingError::Damaged));
        };
        refused(|r| r.steps[0].values = u32::MAX);
        refused(|r| r.values[0].chosen = 3);
        refused(|r| r.values[1] = ValueRecord { count: 1, chosen: 0 });
        refused(|r| r.steps[1].agent = Agent::Buffer(ThreadId(0), Place { addr: Addr(0), width: 0 }));
        refused(|r| r.steps[1].agent = Agent::Buffer(ThreadId(0), Place { addr: Addr(u64::MAX), width: 1 }));
        let mut trailing = postcard::to_allocvec(&sample()).unwrap();
        trailing.push(0);
        assert_eq!(Recording::from_bytes(&seal(&trailing)), Err(RecordingError::Damaged));
    }

    #[test]
    fn a_foreign_recording_is_refused() {
        assert_eq!(sample().check("litmus:MP", ModelKind::Pso), Ok(()));
        let program = sample().check("litmus:SB", ModelKind::Pso).unwrap_err();
        assert_eq!(program.to_string(), "recorded from another program: `litmus:MP`, not `litmus:SB`");
        let model = sample().check("litmus:MP", ModelKind::C11).unwrap_err();
        assert_eq!(model.to_string(), "recorded under the model pso, not c11");
    }

    /// Pins the fingerprints: another hash would make every recording diverge without another version.
    #[test]
    fn fingerprints_do_not_change() {
        let at = Place::new(Addr(0x1000), 4);
        let (order, failure) = (Order::AcqRel, Order::Acquire);
        let ops = [
            Op::Load { at, order },
            Op::Store { at, order },
            Op::Rmw { at, order },
            Op::Cas { at, order, failure, expected: 1, weak: true },
            Op::Cas { at, order, failure, expected: 1, weak: false },
            Op::Fence { order },
            Op::Wait { at, expected: 1 },
            Op::Wake { at, count: 1 },
            Op::Join { child: ThreadId(1) },
            Op::Sync { at },
            Op::Yield,
        ];
        let pinned = [1333, 4580, 24986, 47072, 40086, 41705, 55976, 43756, 26892, 28770, 12010];
        assert_eq!(ops.map(|op| fingerprint(&op)), pinned);
    }
}
