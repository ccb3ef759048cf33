//! One compilation unit, read once: its functions, the calls inlined into them, and what everything is called.
//!
//! Reading a unit never looks into another one, so references across units (link-time optimisation, `rustc`'s
//! abstract instances) stay symbolic ([`Target`]) until somebody asks for a name.

use super::lines::Lines;
use super::types::Types;
use crate::image::Bytes;
use gimli::{AttributeValue, DebuggingInformationEntry as Die, Dwarf, Reader as _, UnitOffset};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// The most ranges that all functions of a unit may have together: hostile lists can be shared.
const MAX_RANGES: usize = 1 << 21;
/// No node, no scope.
pub(crate) const NONE: u32 = u32::MAX;

/// A reference to an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// In the same unit.
    Local(UnitOffset),
    /// Anywhere in `.debug_info`.
    Global(usize),
}

/// A namespace or type that functions are declared in.
#[derive(Debug)]
struct Scope {
    parent: u32,
    name: Option<Bytes>,
}

/// What an entry for a function says about it.
#[derive(Debug)]
pub(crate) struct Routine {
    scope: u32,
    name: Option<Bytes>,
    linkage: Option<Bytes>,
    /// Where to look for what is not said here.
    pub(crate) origin: Option<Target>,
}

/// Where an inlined function was called.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct CallSite {
    pub(crate) file: Option<u64>,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// A function, or a call of one that was inlined.
#[derive(Debug)]
pub(crate) struct Node {
    /// The node that it is inlined into; [`NONE`] for a function.
    pub(crate) parent: u32,
    /// The node after the last one below it.
    pub(crate) end: u32,
    /// Its own entry.
    pub(crate) entry: UnitOffset,
    pub(crate) ranges: Vec<(u64, u64)>,
    /// `DW_AT_entry_pc`, else the lowest address.
    pub(crate) entry_pc: Option<u64>,
    /// Only for inlined ones.
    pub(crate) call: CallSite,
}

impl Node {
    pub(crate) fn inlined(&self) -> bool {
        self.parent != NONE
    }

    pub(crate) fn contains(&self, pc: u64) -> bool {
        self.ranges.iter().any(|&(start, end)| start <= pc && pc < end)
    }
}

/// A unit.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) dwarf: Arc<Dwarf<Bytes>>,
    pub(crate) unit: gimli::Unit<Bytes>,
    /// Of a split unit: what stayed in the main file, with the line table.
    skeleton: Option<(Arc<Dwarf<Bytes>>, gimli::Unit<Bytes>)>,
    pub(crate) language: Option<gimli::DwLang>,
    /// Compiled by GCC.
    pub(crate) gnu: bool,
    /// Its compiler gives a fence without an instruction a row of the line table.
    pub(crate) rows_for_fences: bool,
    scopes: Vec<Scope>,
    routines: HashMap<usize, Routine>,
    pub(crate) nodes: Vec<Node>,
    /// Functions by address: (start, end, node).
    functions: Vec<(u64, u64, u32)>,
    /// Parameters and variables of each node, by node.
    variables: Vec<(u32, UnitOffset)>,
    lines: OnceLock<Lines>,
    types: OnceLock<Types>,
}

impl Unit {
    /// Reads a unit. What is malformed ends the reading; what was read before stays.
    pub(crate) fn read(
        dwarf: Arc<Dwarf<Bytes>>,
        unit: gimli::Unit<Bytes>,
        skeleton: Option<(Arc<Dwarf<Bytes>>, gimli::Unit<Bytes>)>,
    ) -> Unit {
        let mut unit = Unit {
            dwarf,
            unit,
            skeleton,
            language: None,
            gnu: false,
            rows_for_fences: false,
            scopes: Vec::new(),
            routines: HashMap::new(),
            nodes: Vec::new(),
            functions: Vec::new(),
            variables: Vec::new(),
            lines: OnceLock::new(),
            types: OnceLock::new(),
        };
        Reader { out: &mut unit, open: Vec::new(), ranges: 0 }.run();
        unit.functions.sort_unstable();
        unit.variables.sort_by_key(|&(node, _)| node);
        unit
    }

    /// The nodes that an instruction lies in, innermost first.
    pub(crate) fn chain(&self, pc: u64) -> Vec<u32> {
        self.functions_at(pc).next().map(|function| self.chain_in(function, pc)).unwrap_or_default()
    }

    /// The functions that an instruction lies in. They are several if the linker folded identical ones.
    pub(crate) fn functions_at(&self, pc: u64) -> impl Iterator<Item = u32> {
        let end = self.functions.partition_point(|&(start, _, _)| start <= pc);
        let around = self.functions[..end].iter().rev().take(16).filter(move |&&(_, end, _)| pc < end);
        around.map(|&(_, _, function)| function)
    }

    /// The nodes of one function that an instruction lies in, innermost first.
    pub(crate) fn chain_in(&self, function: u32, pc: u64) -> Vec<u32> {
        let mut chain = vec![function];
        let mut at = function + 1;
        while at < self.nodes[function as usize].end {
            let node = &self.nodes[at as usize];
            if node.contains(pc) {
                chain.push(at);
                at += 1;
            } else {
                at = node.end;
            }
        }
        // Siblings that overlap are no chain: keep the path to the last one.
        let mut path = Vec::new();
        let mut node = *chain.last().expect("the function is in it");
        while node != NONE {
            path.push(node);
            node = self.nodes[node as usize].parent;
        }
        path
    }

    /// The parameters and variables of a node.
    pub(crate) fn variables(&self, node: u32) -> impl Iterator<Item = UnitOffset> {
        let from = self.variables.partition_point(|&(of, _)| of < node);
        self.variables[from..].iter().take_while(move |&&(of, _)| of == node).map(|&(_, entry)| entry)
    }

    pub(crate) fn routine(&self, entry: UnitOffset) -> Option<&Routine> {
        self.routines.get(&entry.0)
    }

    /// The name of a routine with its namespaces and types, as far as this entry says it.
    pub(crate) fn path(&self, routine: &Routine) -> Option<Vec<String>> {
        let mut path = vec![text(routine.name.as_ref()?)];
        let mut scope = routine.scope;
        while scope != NONE {
            let Scope { parent, name } = &self.scopes[scope as usize];
            path.push(name.as_ref().map_or_else(|| "(anonymous)".to_owned(), text));
            scope = *parent;
        }
        path.reverse();
        Some(path)
    }

    pub(crate) fn linkage(&self, routine: &Routine) -> Option<String> {
        routine.linkage.as_ref().map(text)
    }

    pub(crate) fn lines(&self) -> &Lines {
        self.lines.get_or_init(|| Lines::new(self.line_unit().1))
    }

    /// The variables that are atomic by their type.
    pub(crate) fn types(&self) -> &Types {
        self.types.get_or_init(|| {
            let mut types = Types::new(self);
            // A split unit has its type units beside it.
            if self.skeleton.is_some() {
                types.absorb(Types::of_type_units(&self.dwarf));
            }
            types
        })
    }

    /// The path of a file that a row of the line table names.
    pub(crate) fn line_file(&self, file: u64) -> Option<String> {
        let (dwarf, unit) = self.line_unit();
        super::lines::path(dwarf, unit, file)
    }

    /// The path of a file that an attribute names.
    pub(crate) fn attribute_file(&self, file: u64) -> Option<String> {
        super::lines::path(&self.dwarf, &self.unit, file).or_else(|| self.line_file(file))
    }

    /// The name of the file that a skeleton's other part would be in, if it was not found.
    pub(crate) fn unsplit(&self, dwarf: &Dwarf<Bytes>) -> Option<String> {
        if self.skeleton.is_some() || self.unit.dwo_id.is_none() {
            return None;
        }
        let name = dwarf.attr_string(&self.unit, self.unit.dwo_name().ok()??).ok()?;
        Some(text(&name))
    }

    fn line_unit(&self) -> (&Dwarf<Bytes>, &gimli::Unit<Bytes>) {
        self.skeleton.as_ref().map_or((&self.dwarf, &self.unit), |(dwarf, unit)| (dwarf, unit))
    }

    /// A string attribute.
    pub(crate) fn string(&self, die: &Die<Bytes>, name: gimli::DwAt) -> Option<Bytes> {
        self.dwarf.attr_string(&self.unit, die.attr_value(name)?).ok()
    }

    fn ranges(&self, die: &Die<Bytes>, room: usize) -> Vec<(u64, u64)> {
        let mut ranges = Vec::new();
        let Ok(mut iter) = self.dwarf.die_ranges(&self.unit, die) else { return ranges };
        while let Ok(Some(range)) = iter.next() {
            if ranges.len() >= room {
                break;
            }
            ranges.push((range.begin, range.end));
        }
        ranges
    }
}

pub(crate) fn text(bytes: &Bytes) -> String {
    bytes.to_string_lossy().map(std::borrow::Cow::into_owned).unwrap_or_default()
}

/// Whether a compiler gives every fence a row of its own, as GCC and LLVM up to 14 do, at the place that it has in the
/// code. Later LLVM leaves nothing.
fn gives_rows(producer: &str) -> bool {
    let clang = producer
        .split_once("clang version ")
        .and_then(|(_, version)| version.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok());
    producer.starts_with("GNU ") || clang.is_some_and(|version| version <= 14)
}

/// What a reference attribute refers to.
pub(crate) fn target(value: Option<AttributeValue<Bytes>>) -> Option<Target> {
    match value? {
        AttributeValue::UnitRef(offset) => Some(Target::Local(offset)),
        AttributeValue::DebugInfoRef(offset) => Some(Target::Global(offset.0)),
        _ => None,
    }
}

/// An entry whose children are being read.
struct Open {
    depth: isize,
    scope: u32,
    node: u32,
}

struct Reader<'a> {
    out: &'a mut Unit,
    open: Vec<Open>,
    ranges: usize,
}

impl Reader<'_> {
    fn run(mut self) {
        // The cursor borrows the abbreviations; a second handle on them lets `out` change meanwhile.
        let abbreviations = Arc::clone(&self.out.unit.abbreviations);
        let header = self.out.unit.header.clone();
        let mut cursor = header.entries(&abbreviations);
        while let Ok(Some(die)) = cursor.next_dfs() {
            self.close(die.depth());
            self.entry(die);
        }
        self.close(isize::MIN);
    }

    fn close(&mut self, depth: isize) {
        while self.open.last().is_some_and(|open| open.depth >= depth) {
            let open = self.open.pop().expect("just seen");
            let above = self.open.last().map_or(NONE, |open| open.node);
            if open.node != NONE && open.node != above {
                self.out.nodes[open.node as usize].end = self.out.nodes.len() as u32;
            }
        }
    }

    fn entry(&mut self, die: &Die<Bytes>) {
        let (mut scope, mut node) = self.open.last().map_or((NONE, NONE), |open| (open.scope, open.node));
        match die.tag() {
            gimli::DW_TAG_compile_unit | gimli::DW_TAG_skeleton_unit | gimli::DW_TAG_partial_unit => {
                if let Some(AttributeValue::Language(language)) = die.attr_value(gimli::DW_AT_language) {
                    self.out.language = Some(language);
                }
                let producer = self.out.string(die, gimli::DW_AT_producer);
                let producer = producer.as_ref().map(text).unwrap_or_default();
                self.out.gnu |= producer.starts_with("GNU ");
                self.out.rows_for_fences |= gives_rows(&producer);
            }
            gimli::DW_TAG_namespace
            | gimli::DW_TAG_module
            | gimli::DW_TAG_class_type
            | gimli::DW_TAG_structure_type
            | gimli::DW_TAG_union_type
            | gimli::DW_TAG_enumeration_type => {
                let name = self.out.string(die, gimli::DW_AT_name);
                self.out.scopes.push(Scope { parent: scope, name });
                scope = self.out.scopes.len() as u32 - 1;
            }
            gimli::DW_TAG_subprogram => {
                self.routine(die, scope);
                node = self.node(die, NONE);
            }
            gimli::DW_TAG_inlined_subroutine => {
                self.routine(die, scope);
                if node != NONE {
                    node = self.node(die, node);
                }
            }
            gimli::DW_TAG_formal_parameter | gimli::DW_TAG_variable if node != NONE => {
                self.out.variables.push((node, die.offset()));
            }
            _ => {}
        }
        if die.has_children() {
            self.open.push(Open { depth: die.depth(), scope, node });
        }
    }

    fn routine(&mut self, die: &Die<Bytes>, scope: u32) {
        let origin = target(die.attr_value(gimli::DW_AT_abstract_origin))
            .or_else(|| target(die.attr_value(gimli::DW_AT_specification)));
        let linkage = self
            .out
            .string(die, gimli::DW_AT_linkage_name)
            .or_else(|| self.out.string(die, gimli::DW_AT_MIPS_linkage_name));
        let name = self.out.string(die, gimli::DW_AT_name);
        self.out.routines.insert(die.offset().0, Routine { scope, name, linkage, origin });
    }

    /// A node, if the function has code (an inlined one may have none: a fence, say).
    fn node(&mut self, die: &Die<Bytes>, parent: u32) -> u32 {
        let room = MAX_RANGES.saturating_sub(self.ranges).min(1 << 16);
        let ranges = self.out.ranges(die, room);
        self.ranges += ranges.len();
        let address = |value| self.out.dwarf.attr_address(&self.out.unit, value).ok().flatten();
        let stated = die.attr_value(gimli::DW_AT_entry_pc).and_then(|value| match value {
            // DWARF 5 allows an offset from the lowest address.
            AttributeValue::Udata(offset) => ranges.first().map(|range| range.0.wrapping_add(offset)),
            value => address(value),
        });
        let low = die.attr_value(gimli::DW_AT_low_pc).and_then(address);
        let entry_pc = stated.or(low).or_else(|| ranges.iter().map(|range| range.0).min());
        if entry_pc.is_none() {
            return NONE;
        }
        let number = |name| die.attr_value(name).and_then(|value| value.udata_value());
        let file = die.attr_value(gimli::DW_AT_call_file).and_then(|value| match value {
            AttributeValue::FileIndex(file) => Some(file),
            value => value.udata_value(),
        });
        let small = |name| number(name).and_then(|value| u32::try_from(value).ok()).unwrap_or(0);
        let call =
            CallSite { file, line: small(gimli::DW_AT_call_line), column: small(gimli::DW_AT_call_column) };
        let node = self.out.nodes.len() as u32;
        if parent == NONE {
            self.out
                .functions
                .extend(ranges.iter().filter(|r| r.0 != 0).map(|&(start, end)| (start, end, node)));
        }
        self.out.nodes.push(Node { parent, end: node + 1, entry: die.offset(), ranges, entry_pc, call });
        node
    }
}

#[cfg(test)]
mod tests {
    use super::gives_rows;

    #[test]
    fn who_gives_rows_to_fences() {
        for producer in ["GNU C17 12.2.0 -O2", "Debian clang version 14.0.6", "clang version 13.0.1"] {
            assert!(gives_rows(producer), "{producer}");
        }
        for producer in ["Debian clang version 15.0.7", "clang LLVM (rustc version 1.95.0)", "icc", ""] {
            assert!(!gives_rows(producer), "{producer}");
        }
    }
}
