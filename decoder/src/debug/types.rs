//! Which variables of a unit are atomic by their type: C's `_Atomic` (DW_TAG_atomic_type), `std::atomic`, and
//! Rust's `Atomic…`. Static variables are known by address, all others (members, parameters, locals) by name.
//!
//! And which names the unit knows at all. What is not among them is a macro, or a variable that is declared elsewhere
//! (clang does not describe what is `extern`): it may be anything.

use super::unit::{Unit, text};
use crate::image::Bytes;
use gimli::{AttributeValue, DebuggingInformationEntry as Die, Dwarf, Reader as _, UnitOffset};
use std::collections::{BTreeMap, BTreeSet, HashSet};

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
    /// Members, parameters, variables and results of functions that are `_Atomic`, or that point to or are arrays of
    /// something `_Atomic`.
    pub(crate) atomic_names: BTreeSet<String>,
    /// The same for volatile ones.
    pub(crate) volatile_names: BTreeSet<String>,
    /// Static variables by address.
    statics: BTreeMap<u64, (u64, Shape)>,
    /// Everything that has a name, without template arguments (`max<int>`) and numbers of packs (`args#0`).
    names: HashSet<String>,
    /// Whether anything has a type: line tables alone (`-g1`) have none.
    typed: bool,
    /// The names of bit-fields.
    pub(crate) bit_fields: BTreeSet<String>,
}

impl Types {
    pub(crate) fn new(unit: &Unit) -> Types {
        let mut types = Types::default();
        types.read(&unit.dwarf, &unit.unit);
        types
    }

    /// The same of all type units (`-fdebug-types-section`), which hold what is inside of structures.
    pub(crate) fn of_type_units(dwarf: &Dwarf<Bytes>) -> Types {
        let mut types = Types::default();
        let mut read = |header| {
            if let Ok(unit) = dwarf.unit(header) {
                types.read(dwarf, &unit);
            }
        };
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            if matches!(header.type_(), gimli::UnitType::Type { .. } | gimli::UnitType::SplitType { .. }) {
                read(header);
            }
        }
        let mut headers = dwarf.type_units();
        while let Ok(Some(header)) = headers.next() {
            read(header);
        }
        types
    }

    fn read(&mut self, dwarf: &Dwarf<Bytes>, unit: &gimli::Unit<Bytes>) {
        let mut entries = unit.entries();
        while let Ok(Some(die)) = entries.next_dfs() {
            let variable = matches!(
                die.tag(),
                gimli::DW_TAG_variable | gimli::DW_TAG_member | gimli::DW_TAG_formal_parameter
            );
            let name = die.attr_value(gimli::DW_AT_name).and_then(|name| dwarf.attr_string(unit, name).ok());
            if let Some(name) = &name
                && let Ok(name) = name.to_slice()
                && let Ok(name) =
                    std::str::from_utf8(name.split(|byte| b"<#".contains(byte)).next().unwrap_or(&name))
                && !self.names.contains(name)
            {
                self.names.insert(name.to_owned());
            }
            self.typed |= die.attr_value(gimli::DW_AT_type).is_some();
            if let Some(name) = name.as_ref().filter(|_| die.attr_value(gimli::DW_AT_bit_size).is_some()) {
                self.bit_fields.insert(text(name));
            }
            if variable {
                self.variable(dwarf, unit, die, name);
            } else if die.tag() == gimli::DW_TAG_subprogram
                && let Some(AttributeValue::UnitRef(of)) = die.attr_value(gimli::DW_AT_type)
            {
                self.hinted(dwarf, unit, of, name);
            }
        }
    }

    fn variable(
        &mut self,
        dwarf: &Dwarf<Bytes>,
        unit: &gimli::Unit<Bytes>,
        die: &Die<Bytes>,
        name: Option<Bytes>,
    ) {
        // A static member, or a variable of an inlined function, is declared elsewhere.
        let declared = || {
            let of = [gimli::DW_AT_specification, gimli::DW_AT_abstract_origin];
            of.into_iter().find_map(|of| match die.attr_value(of) {
                Some(AttributeValue::UnitRef(at)) => unit.entry(at).ok()?.attr_value(gimli::DW_AT_type),
                _ => None,
            })
        };
        let of = die.attr_value(gimli::DW_AT_type).or_else(declared);
        let Some(AttributeValue::UnitRef(of)) = of else { return };
        let Some((shape, size)) = shape(dwarf, unit, of, false) else { return };
        if let Some(addr) = address(dwarf, unit, die) {
            self.statics.insert(addr, (size, shape));
        }
        self.hinted(dwarf, unit, of, name);
    }

    /// Something with a name and a type.
    fn hinted(
        &mut self,
        dwarf: &Dwarf<Bytes>,
        unit: &gimli::Unit<Bytes>,
        of: UnitOffset,
        name: Option<Bytes>,
    ) {
        let Some(name) = name else { return };
        match hint(dwarf, unit, of) {
            Some(Shape::Atomic) => self.atomic_names.insert(text(&name)),
            Some(Shape::Volatile) => self.volatile_names.insert(text(&name)),
            Some(Shape::Library | Shape::Plain | Shape::Compound) | None => return,
        };
    }

    /// Adds what another has.
    pub(crate) fn absorb(&mut self, other: Types) {
        self.atomic_names.extend(other.atomic_names);
        self.volatile_names.extend(other.volatile_names);
        self.names.extend(other.names);
        self.typed |= other.typed;
        self.bit_fields.extend(other.bit_fields);
    }

    /// Whether the unit has anything of this name.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Whether the unit has types at all.
    pub(crate) fn typed(&self) -> bool {
        self.typed
    }

    /// What the static variable at an address is.
    pub(crate) fn static_at(&self, addr: u64) -> Option<Shape> {
        let (&start, &(size, shape)) = self.statics.range(..=addr).next_back()?;
        (addr - start < size.max(1)).then_some(shape)
    }
}

/// The address of a static variable.
fn address(dwarf: &Dwarf<Bytes>, unit: &gimli::Unit<Bytes>, die: &Die<Bytes>) -> Option<u64> {
    let AttributeValue::Exprloc(expression) = die.attr_value(gimli::DW_AT_location)? else { return None };
    let mut operations = expression.operations(unit.encoding());
    let address = match operations.next().ok()?? {
        gimli::Operation::Address { address } => address,
        gimli::Operation::AddressIndex { index } => dwarf.address(unit, index).ok()?,
        _ => return None,
    };
    operations.next().ok()?.is_none().then_some(address)
}

/// Whether a variable of this type is atomic or volatile, or points to or is an array of something that is.
pub(crate) fn hint(dwarf: &Dwarf<Bytes>, unit: &gimli::Unit<Bytes>, of: UnitOffset) -> Option<Shape> {
    let (shape, _) = shape(dwarf, unit, of, false)?;
    let pointee = self::shape(dwarf, unit, of, true).map_or(shape, |(shape, _)| shape);
    Some(match (shape, pointee) {
        (Shape::Atomic, _) | (_, Shape::Atomic) => Shape::Atomic,
        (Shape::Volatile, _) | (_, Shape::Volatile) => Shape::Volatile,
        (shape, _) => shape,
    })
}

/// The shape and size of a type; with `through`, of what its pointers and arrays lead to.
fn shape(
    dwarf: &Dwarf<Bytes>,
    unit: &gimli::Unit<Bytes>,
    of: UnitOffset,
    through: bool,
) -> Option<(Shape, u64)> {
    let mut at = of;
    let mut volatile = false;
    for _ in 0..MAX_LAYERS {
        let die = unit.entry(at).ok()?;
        let size = die.attr_value(gimli::DW_AT_byte_size).and_then(|size| size.udata_value());
        let plain = if volatile { Shape::Volatile } else { Shape::Plain };
        match die.tag() {
            gimli::DW_TAG_atomic_type => return Some((Shape::Atomic, size_in(unit, at).unwrap_or(0))),
            gimli::DW_TAG_volatile_type => volatile = true,
            gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_restrict_type => {}
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type | gimli::DW_TAG_array_type
                if through => {}
            gimli::DW_TAG_base_type | gimli::DW_TAG_enumeration_type | gimli::DW_TAG_pointer_type => {
                return Some((plain, size.unwrap_or(8)));
            }
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                let name =
                    die.attr_value(gimli::DW_AT_name).and_then(|name| dwarf.attr_string(unit, name).ok());
                let name = name.as_ref().map(text).unwrap_or_default();
                let atomic = name.starts_with("atomic<") || name == "atomic_flag" || rust_atomic(&name);
                let shape = match (atomic, volatile) {
                    (true, _) => Shape::Library,
                    (false, true) => Shape::Volatile,
                    (false, false) => Shape::Compound,
                };
                // What is declared only has no size, but qualifiers all the same.
                return match shape {
                    Shape::Compound => Some((shape, size?)),
                    shape => Some((shape, size.unwrap_or(0))),
                };
            }
            _ => return Some((if volatile { Shape::Volatile } else { Shape::Compound }, size.unwrap_or(0))),
        }
        match die.attr_value(gimli::DW_AT_type) {
            Some(AttributeValue::UnitRef(next)) => at = next,
            // `void`, or a type of another unit.
            _ => return volatile.then_some((Shape::Volatile, 0)),
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
    size_in(&unit.unit, of)
}

fn size_in(unit: &gimli::Unit<Bytes>, of: UnitOffset) -> Option<u64> {
    let mut at = of;
    for _ in 0..MAX_LAYERS {
        let die = unit.entry(at).ok()?;
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
