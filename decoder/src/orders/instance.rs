//! The order arguments of one atomic operation, as its debug information has them: a constant, a place to be
//! looked up at run time, several constants that contradict each other, or nothing.

use super::ops::{Op, Scale, recognise, recognise_in_file};
use crate::debug::{Cfa, Debug, Lookup, Unit, constant_of, target, text};
use crate::image::Bytes;
use gimli::{AttributeValue, DebuggingInformationEntry as Die, Expression, UnitOffset};

/// The most entries of a location list that are looked at.
const MAX_LOCATIONS: usize = 4096;

/// What is known of an argument at an instruction.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Argument {
    /// Its value.
    Known(u64),
    /// Several values, all claimed for this place.
    Contradictory(Vec<u64>),
    /// Where to look when a thread stops here.
    Runtime(Lookup),
    /// It is a parameter of the operation, but its value is gone; or it is no parameter.
    Lost,
}

/// The operation that a node is, if any. `file` is where its source is, asked for only if its name is not enough.
pub(crate) fn operation(
    debug: &Debug,
    unit: &Unit,
    node: u32,
    file: impl FnOnce() -> Option<String>,
) -> Option<Op> {
    let path = debug.path(unit, unit.nodes[node as usize].entry).0?;
    recognise(&path).or_else(|| match path.as_slice() {
        [name] => recognise_in_file(name, &file()?),
        _ => None,
    })
}

/// The name of a parameter or variable.
pub(crate) fn variable_name(debug: &Debug, unit: &Unit, entry: UnitOffset) -> Option<String> {
    let die = unit.unit.entry(entry).ok()?;
    if let Some(name) = unit.string(&die, gimli::DW_AT_name) {
        return Some(text(&name));
    }
    let (unit, entry) = debug.follow(unit, target(die.attr_value(gimli::DW_AT_abstract_origin))?)?;
    let die = unit.unit.entry(entry).ok()?;
    unit.string(&die, gimli::DW_AT_name).map(|name| text(&name))
}

/// The type of a parameter or variable, and the unit that has it.
pub(crate) fn variable_type<'a>(
    debug: &'a Debug,
    unit: &'a Unit,
    entry: UnitOffset,
) -> Option<(&'a Unit, UnitOffset)> {
    let die = unit.unit.entry(entry).ok()?;
    if let Some(of) = target(die.attr_value(gimli::DW_AT_type)) {
        return debug.follow(unit, of);
    }
    let (unit, entry) = debug.follow(unit, target(die.attr_value(gimli::DW_AT_abstract_origin))?)?;
    let die = unit.unit.entry(entry).ok()?;
    debug.follow(unit, target(die.attr_value(gimli::DW_AT_type))?)
}

/// Whether an entry, or what it repeats, has a type: a function without one returns nothing.
pub(crate) fn has_type(debug: &Debug, unit: &Unit, entry: UnitOffset) -> bool {
    let (mut unit, mut entry) = (unit, entry);
    // A definition, its abstract instance, its declaration.
    for _ in 0..4 {
        let Ok(die) = unit.unit.entry(entry) else { return true };
        if die.attr_value(gimli::DW_AT_type).is_some() {
            return true;
        }
        let of = [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification];
        let Some(next) = of.into_iter().find_map(|of| target(die.attr_value(of))) else { return false };
        match debug.follow(unit, next) {
            Some(found) => (unit, entry) = found,
            None => return true,
        }
    }
    true
}

/// An atomic operation around an instruction.
pub(crate) struct Instance<'a> {
    pub(crate) debug: &'a Debug,
    pub(crate) unit: &'a Unit,
    pub(crate) node: u32,
    pub(crate) op: Op,
    /// The instruction.
    pub(crate) pc: u64,
    pub(crate) cfa: Option<Cfa>,
}

impl Instance<'_> {
    /// The order argument (of compare-and-swap: for success).
    pub(crate) fn order(&self) -> Argument {
        self.argument(self.op.scale.order_names(), self.op.scale.size())
    }

    /// The order argument for failure.
    pub(crate) fn failure(&self) -> Argument {
        self.argument(self.op.scale.failure_names(), self.op.scale.size())
    }

    /// The address of the object.
    pub(crate) fn object(&self) -> Argument {
        match self.argument(self.op.scale.object_names(), 8) {
            Argument::Runtime(lookup) => Argument::Runtime(Lookup { indirect: self.op.indirect, ..lookup }),
            Argument::Known(_) | Argument::Contradictory(_) if self.op.indirect => Argument::Lost,
            found => found,
        }
    }

    /// If a parameter or variable lies in the frame here: how far from the CFA. With `whole` only if it does so in
    /// all of its scope.
    pub(crate) fn frame_slot(&self, entry: UnitOffset, whole: bool) -> Option<i64> {
        let die = self.unit.unit.entry(entry).ok()?;
        let fixed = matches!(die.attr_value(gimli::DW_AT_location)?, AttributeValue::Exprloc(_));
        match self.value(&die, 8) {
            Argument::Runtime(lookup) if fixed || !whole => lookup.frame_slot(),
            _ => None,
        }
    }

    fn argument(&self, names: &[&str], size: u8) -> Argument {
        for entry in self.unit.variables(self.node) {
            let named = variable_name(self.debug, self.unit, entry);
            if named.is_some_and(|name| names.contains(&name.as_str()))
                && let Ok(die) = self.unit.unit.entry(entry)
            {
                match self.value(&die, size) {
                    // rustc repeats an argument as a variable, sometimes without its value.
                    Argument::Lost => {}
                    found => return found,
                }
            }
        }
        Argument::Lost
    }

    fn value(&self, die: &Die<Bytes>, size: u8) -> Argument {
        if let Some(value) = die.attr_value(gimli::DW_AT_const_value) {
            return constant(&value).map_or(Argument::Lost, Argument::Known);
        }
        let Some(location) = die.attr_value(gimli::DW_AT_location) else { return Argument::Lost };
        if let AttributeValue::Exprloc(expression) = &location {
            return self.place(expression, size);
        }
        let list = self.unit.dwarf.attr_locations(&self.unit.unit, location.clone());
        let Ok(Some(mut list)) = list else { return Argument::Lost };
        let (mut here, mut elsewhere) = (Vec::new(), Vec::new());
        let mut runtime = None;
        for _ in 0..MAX_LOCATIONS {
            let Ok(Some(entry)) = list.next() else { break };
            let covers = entry.range.begin <= self.pc && self.pc < entry.range.end;
            match (constant_of(&entry.data.0, self.unit.unit.encoding()), covers) {
                (Some(value), true) => here.push(value),
                (Some(value), false) => elsewhere.push(value),
                (None, true) => runtime = Some(self.place(&entry.data, size)),
                (None, false) => {}
            }
        }
        // An argument of an atomic operation does not change in it. Where the list has a gap at the instruction
        // (g++ moves instructions across the point where the argument begins to live), its constant holds too.
        let mut values = if here.is_empty() && runtime.is_none() { elsewhere } else { here };
        if values.is_empty() && runtime.is_none() {
            values = self.nowhere(location);
        }
        values.sort_unstable();
        values.dedup();
        match (values.as_slice(), runtime) {
            ([], None) => Argument::Lost,
            ([], Some(place)) => place,
            ([value], None) => Argument::Known(*value),
            (_, _) => Argument::Contradictory(values),
        }
    }

    /// Constants whose ranges are empty: g++'s way to say what the argument of a fence without code is. They must
    /// be read raw, for an iterator of real ranges skips them.
    fn nowhere(&self, location: AttributeValue<Bytes>) -> Vec<u64> {
        use gimli::RawLocListEntry as Raw;
        let offset = self.unit.dwarf.attr_locations_offset(&self.unit.unit, location);
        let Ok(Some(offset)) = offset else { return Vec::new() };
        let Ok(mut list) = self.unit.dwarf.raw_locations(&self.unit.unit, offset) else { return Vec::new() };
        let mut values = Vec::new();
        for _ in 0..MAX_LOCATIONS {
            let Ok(Some(entry)) = list.next() else { break };
            let data = match entry {
                Raw::BaseAddress { .. } | Raw::BaseAddressx { .. } => continue,
                Raw::AddressOrOffsetPair { data, .. }
                | Raw::StartxEndx { data, .. }
                | Raw::StartxLength { data, .. }
                | Raw::OffsetPair { data, .. }
                | Raw::DefaultLocation { data }
                | Raw::StartEnd { data, .. }
                | Raw::StartLength { data, .. } => data,
            };
            values.extend(constant_of(&data.0, self.unit.unit.encoding()));
        }
        values
    }

    fn place(&self, expression: &Expression<Bytes>, size: u8) -> Argument {
        let encoding = self.unit.unit.encoding();
        if let Some(value) = constant_of(&expression.0, encoding) {
            return Argument::Known(value);
        }
        if expression.0.bytes().is_empty() {
            return Argument::Lost;
        }
        Argument::Runtime(Lookup {
            expression: expression.0.clone(),
            encoding,
            frame_base: self.frame_base(),
            cfa: self.cfa,
            size,
            indirect: false,
        })
    }

    /// The frame base of the function that contains this node.
    fn frame_base(&self) -> Option<Bytes> {
        let mut node = &self.unit.nodes[self.node as usize];
        while node.inlined() {
            node = &self.unit.nodes[node.parent as usize];
        }
        match self.unit.unit.entry(UnitOffset(node.entry.0)).ok()?.attr_value(gimli::DW_AT_frame_base)? {
            AttributeValue::Exprloc(expression) => Some(expression.0),
            _ => None,
        }
    }
}

fn constant(value: &AttributeValue<Bytes>) -> Option<u64> {
    match value {
        AttributeValue::Block(bytes) => {
            let bytes = bytes.bytes();
            let mut word = [0; 8];
            word.get_mut(..bytes.len())?.copy_from_slice(bytes);
            Some(u64::from_le_bytes(word))
        }
        value => value.udata_value().or_else(|| value.sdata_value().map(i64::cast_unsigned)),
    }
}

/// The scale of a language, for orders in source text and types.
pub(crate) fn is_rust(unit: &Unit) -> bool {
    unit.language == Some(gimli::DW_LANG_Rust)
}

/// Whether a unit is written in C++.
pub(crate) fn is_cpp(unit: &Unit) -> bool {
    use gimli::{DW_LANG_C_plus_plus, DW_LANG_C_plus_plus_03, DW_LANG_C_plus_plus_11};
    use gimli::{DW_LANG_C_plus_plus_14, DW_LANG_C_plus_plus_17, DW_LANG_C_plus_plus_20, DwLang};
    // C++23 has a number since, and no name in gimli yet; so has C23.
    let cpp = [
        DW_LANG_C_plus_plus,
        DW_LANG_C_plus_plus_03,
        DW_LANG_C_plus_plus_11,
        DW_LANG_C_plus_plus_14,
        DW_LANG_C_plus_plus_17,
        DW_LANG_C_plus_plus_20,
        DwLang(0x3a),
    ];
    unit.language.is_some_and(|language| cpp.contains(&language))
}

/// Whether a unit is written in C or C++, or does not say: the only languages whose statements tell what is plain.
pub(crate) fn is_c(unit: &Unit) -> bool {
    use gimli::{DW_LANG_C, DW_LANG_C11, DW_LANG_C17, DW_LANG_C89, DW_LANG_C99, DwLang};
    let c = [DW_LANG_C, DW_LANG_C89, DW_LANG_C99, DW_LANG_C11, DW_LANG_C17, DwLang(0x3e)];
    unit.language.is_none_or(|language| c.contains(&language)) || is_cpp(unit)
}

impl Argument {
    /// The order that the argument states, the stronger of several, and whether there were several.
    pub(crate) fn order(&self, scale: Scale) -> Option<(wmtrace_model::order::Order, bool)> {
        match self {
            Argument::Known(value) => scale.order(*value).map(|order| (order, false)),
            Argument::Contradictory(values) => values
                .iter()
                .filter_map(|&value| scale.order(value))
                .reduce(super::stronger)
                .map(|order| (order, true)),
            Argument::Runtime(_) | Argument::Lost => None,
        }
    }
}
