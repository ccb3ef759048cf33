//! The table: capstone's instruction id → [`Shape`], one file a family. An id that is in none of them is
//! unsupported; there is no default.

mod branches;
mod exclusives;
mod integer;
mod loads_stores;
mod lse;
mod pairs;
mod simd;
mod structures;
mod system;

use super::shape::{Destination, Shape};
use capstone::arch::arm64::Arm64Insn;

/// One line of the table.
type Row = (Arm64Insn, Shape);

const FAMILIES: &[&[Row]] = &[
    loads_stores::ROWS,
    pairs::ROWS,
    exclusives::ROWS,
    lse::ROWS,
    structures::ROWS,
    system::ROWS,
    branches::ROWS,
];

const DATA: &[(&[Arm64Insn], Destination)] = &[
    (integer::WRITTEN, Destination::Written),
    (simd::WRITTEN, Destination::Written),
    (simd::MODIFIED, Destination::Modified),
];

/// How many ids capstone has.
const IDS: usize = Arm64Insn::ARM64_INS_ENDING as usize;

static TABLE: [Option<Shape>; IDS] = build();

/// Puts the families together. An id that two of them claim does not compile.
const fn build() -> [Option<Shape>; IDS] {
    let mut table = [None; IDS];
    let mut family = 0;
    while family < FAMILIES.len() {
        let mut row = 0;
        while row < FAMILIES[family].len() {
            let (id, shape) = FAMILIES[family][row];
            assert!(table[id as usize].is_none(), "an id is listed twice");
            table[id as usize] = Some(shape);
            row += 1;
        }
        family += 1;
    }
    let mut list = 0;
    while list < DATA.len() {
        let (ids, destination) = DATA[list];
        let mut at = 0;
        while at < ids.len() {
            assert!(table[ids[at] as usize].is_none(), "an id is listed twice");
            table[ids[at] as usize] = Some(Shape::Data(destination));
            at += 1;
        }
        list += 1;
    }
    table
}

/// The shape of an id.
pub(super) fn shape(id: u32) -> Option<Shape> {
    TABLE.get(id as usize).copied().flatten()
}
