//! Which variables of a unit are atomic by their type: C's `_Atomic` (DW_TAG_atomic_type), `std::atomic`, and
//! Rust's `Atomic…`. Static variables are known by address, all others (members, parameters, locals) by name. And the
//! names of its functions: what looks like a call and is none of these may be a macro.

use super::unit::{Unit, text};
use crate::image::Bytes;
use gimli::{AttributeValue, DebuggingInformationEntry as Die, UnitOffset};
use std::collections::{BTreeMap, BTreeSet};

/// The most types between a variable and what it is made of.
const MAX_LAYERS: usize = 16;

/// What a type says about accesses to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// `_Atomic`: operators access it atomically.
    Atomic,
    /// A library's atomic type: only the library's functions access it, and they are known by their names.
    Library,
    /// One plain value: a number, a pointer, an enumeration.
    Plain,
    /// A volatile value.
    Volatile,
    /// Made of several parts.
    Compound,
}

/// The variables of a unit.
#[derive(Default, Debug)]
pub(crate) struct Types {
    /// Members, parameters and variables that are `_Atomic`, or that point to or are arrays of something `_Atomic`.
    pub(crate) atomic_names: BTreeSet<String>,
    /// The same for volatile ones.
    pub(crate) volatile_names: BTreeSet<String>,
    /// Functions that are defined, declared or inlined.
    pub(crate) function_names: BTreeSet<String>,
    /// Static variables by address.
    statics: BTreeMap<u64, (u64, Shape)>,
}

impl Types {
    pub(crate) fn new(unit: &Unit) -> Types {
        let mut types = Types::default();
        let mut entries = unit.unit.entries();
        while let Ok(Some(die)) = entries.next_dfs() {
            if die.tag() == gimli::DW_TAG_subprogram
                && let Some(name) = unit.string(die, gimli::DW_AT_name)
            {
                types.function_names.insert(text(&name));
            }
            if !matches!(
                die.tag(),
                gimli::DW_TAG_variable | gimli::DW_TAG_member | gimli::DW_TAG_formal_parameter
            ) {
                continue;
            }
            let Some(AttributeValue::UnitRef(of)) = die.attr_value(gimli::DW_AT_type) else { continue };
            let Some((shape, size)) = shape(unit, of, false) else { continue };
            if let Some(addr) = address(unit, die) {
                types.statics.insert(addr, (size, shape));
            }
            let pointee = self::shape(unit, of, true).map_or(shape, |(shape, _)| shape);
            let names = match (shape, pointee) {
                (Shape::Atomic, _) | (_, Shape::Atomic) => &mut types.atomic_names,
                (Shape::Volatile, _) | (_, Shape::Volatile) => &mut types.volatile_names,
                _ => continue,
            };
            if let Some(name) = unit.string(die, gimli::DW_AT_name) {
                names.insert(text(&name));
            }
        }
        types
    }

    /// What the static variable at an address is.
    pub(crate) fn static_at(&self, addr: u64) -> Option<Shape> {
        let (&start, &(size, shape)) = self.statics.range(..=addr).next_back()?;
        (addr - start < size.max(1)).then_some(shape)
    }
}

/// The address of a static variable.
fn address(unit: &Unit, die: &Die<Bytes>) -> Option<u64> {
    let AttributeValue::Exprloc(expression) = die.attr_value(gimli::DW_AT_location)? else { return None };
    let mut operations = expression.operations(unit.unit.encoding());
    let address = match operations.next().ok()?? {
        gimli::Operation::Address { address } => address,
        gimli::Operation::AddressIndex { index } => unit.dwarf.address(&unit.unit, index).ok()?,
        _ => return None,
    };
    operations.next().ok()?.is_none().then_some(address)
}

/// The shape and size of a type; with `through`, of what its pointers and arrays lead to.
fn shape(unit: &Unit, of: UnitOffset, through: bool) -> Option<(Shape, u64)> {
    let mut at = of;
    let mut volatile = false;
    for _ in 0..MAX_LAYERS {
        let die = unit.unit.entry(at).ok()?;
        let size = die.attr_value(gimli::DW_AT_byte_size).and_then(|size| size.udata_value());
        let plain = if volatile { Shape::Volatile } else { Shape::Plain };
        match die.tag() {
            gimli::DW_TAG_atomic_type => return Some((Shape::Atomic, size_of(unit, at)?)),
            gimli::DW_TAG_volatile_type => volatile = true,
            gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_restrict_type => {}
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type | gimli::DW_TAG_array_type
                if through => {}
            gimli::DW_TAG_base_type | gimli::DW_TAG_enumeration_type | gimli::DW_TAG_pointer_type => {
                return Some((plain, size.unwrap_or(8)));
            }
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                let name = unit.string(&die, gimli::DW_AT_name).map(|name| text(&name)).unwrap_or_default();
                let atomic = name.starts_with("atomic<") || name == "atomic_flag" || rust_atomic(&name);
                return Some((if atomic { Shape::Library } else { Shape::Compound }, size?));
            }
            _ => return Some((Shape::Compound, size.unwrap_or(0))),
        }
        match die.attr_value(gimli::DW_AT_type) {
            Some(AttributeValue::UnitRef(next)) => at = next,
            // `void`, or a type of another unit.
            _ => return None,
        }
    }
    None
}

fn rust_atomic(name: &str) -> bool {
    name.strip_prefix("Atomic").is_some_and(|rest| {
        matches!(rest, "Bool" | "Usize" | "Isize")
            || rest.starts_with(['U', 'I', '<'])
            || rest.starts_with("Ptr")
    })
}

/// The size of what a pointer or reference leads to.
pub(crate) fn pointee_size(unit: &Unit, of: UnitOffset) -> Option<u64> {
    let mut at = of;
    for _ in 0..MAX_LAYERS {
        let die = unit.unit.entry(at).ok()?;
        let AttributeValue::UnitRef(next) = die.attr_value(gimli::DW_AT_type)? else { return None };
        match die.tag() {
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type => return size_of(unit, next),
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type => at = next,
            _ => return None,
        }
    }
    None
}

/// The size of a type.
pub(crate) fn size_of(unit: &Unit, of: UnitOffset) -> Option<u64> {
    let mut at = of;
    for _ in 0..MAX_LAYERS {
        let die = unit.unit.entry(at).ok()?;
        if let Some(size) = die.attr_value(gimli::DW_AT_byte_size).and_then(|size| size.udata_value()) {
            return Some(size);
        }
        match (die.tag(), die.attr_value(gimli::DW_AT_type)) {
            // rustc does not say how large a pointer is.
            (gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type, _) => return Some(8),
            // An array's type is that of one element.
            (gimli::DW_TAG_array_type, _) => return None,
            (_, Some(AttributeValue::UnitRef(next))) => at = next,
            (_, _) => return None,
        }
    }
    None
}
