//! The tables: capstone's instruction ids → shapes, one file a family. An id stands in exactly one row of these
//! tables or of [`UNSUPPORTED`]; a test says so, and so a new capstone with new ids is noticed.

mod avx;
mod avx512;
mod integer;
mod sse;
mod strings;
mod system;
mod unsupported;
mod x87;

use super::prefix::{Encoding, Prefixes};
use super::shape::{Row, Shape};
use capstone::InsnId;
use capstone::arch::x86::X86Insn;

use unsupported::UNSUPPORTED;

static TABLES: [&[Row]; 7] =
    [integer::ROWS, strings::ROWS, x87::ROWS, sse::ROWS, avx::ROWS, avx512::ROWS, system::ROWS];

const IDS: usize = X86Insn::X86_INS_ENDING as usize;

/// What is known of an id.
#[derive(Clone, Copy, Debug)]
pub(super) enum Known {
    /// Its shape.
    Shape(&'static Shape),
    /// It is unsupported, and why.
    Unsupported(&'static str),
}

/// All tables, by id.
#[derive(Debug)]
pub(super) struct Index(Box<[Option<Known>]>);

impl Index {
    pub(super) fn new() -> Index {
        let mut index = vec![None; IDS].into_boxed_slice();
        let mut set = |id: X86Insn, known: Known| {
            let slot = &mut index[id as usize];
            assert!(slot.is_none(), "{id:?} stands in two rows");
            *slot = Some(known);
        };
        for (shape, ids) in TABLES.into_iter().flatten() {
            ids.iter().for_each(|&id| set(id, Known::Shape(shape)));
        }
        for (reason, ids) in UNSUPPORTED {
            ids.iter().for_each(|&id| set(id, Known::Unsupported(reason)));
        }
        Index(index)
    }

    /// `None`: an id that no table has.
    pub(super) fn get(&self, id: InsnId) -> Option<Known> {
        self.0.get(id.0 as usize).copied().flatten()
    }

    /// As [`Index::get`], where capstone's id is right. Compares whose predicate is part of the name have the id
    /// of CMPPD plus the predicate (CMPORDPS that of CMPXCHG16B), and likewise AVX-512's integer compares.
    pub(super) fn find(&self, id: InsnId, prefixes: &Prefixes) -> Option<Known> {
        let id = match (prefixes.encoding, prefixes.map, prefixes.opcode) {
            (Encoding::Legacy, 1, 0xc2) => X86Insn::X86_INS_CMPPS as u32,
            (Encoding::Evex, 3, 0x1e | 0x1f | 0x3e | 0x3f) => X86Insn::X86_INS_VPCMP as u32,
            _ => id.0,
        };
        self.get(InsnId(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_of_capstone_stands_in_one_row() {
        let index = Index::new();
        let capstone = super::super::new_capstone();
        let missing: Vec<_> = (1..IDS as u32)
            .filter(|&id| index.get(InsnId(id)).is_none())
            .map(|id| capstone.insn_name(InsnId(id)).unwrap_or_default())
            .collect();
        assert!(missing.is_empty(), "in no table: {}", missing.join(" "));
    }
}
