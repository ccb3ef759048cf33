//! Debug information, read lazily: only the units that somebody asks about.
//!
//! [`struct@Debug`] answers for an instruction: which function, inlined where, which file, line and column. It follows
//! DWARF 5 (and 4, with GNU's extensions for split units); gimli decodes, this module keeps the index, the units
//! and the way between files. Supplementary files (`dwz`) are not followed, and [`Debug::absent`] says so.

mod files;
mod frames;
mod lines;
mod listing;
mod location;
mod mention;
mod names;
mod sources;
mod types;
mod unit;

pub use files::{DebugFile, Files, NoFiles};
pub use frames::{Cfa, Frames};
pub use location::{Context, EvalError, Lookup};
pub use names::demangle;

pub(crate) use lines::Row;
pub(crate) use location::constant_of;
pub(crate) use sources::Sources;
pub(crate) use types::{Shape, Types, hint, pointee_size, size_of};
pub(crate) use unit::{NONE, Target, Unit, target, text};

use unit::{CallSite, Node};

use crate::image::{Bytes, Image};
use gimli::{Dwarf, DwarfFileType, DwarfPackage, Reader as _, SectionId, UnitHeader, UnitOffset};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The most entries that are followed from one to the next.
const MAX_HOPS: usize = 16;

/// A place in source text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceLine {
    /// The path that the compiler saw.
    pub file: String,
    /// From 1; 0: the compiler made this up.
    pub line: u32,
    /// From 1; 0: not said.
    pub column: u32,
}

/// One function that an instruction belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Its name, demangled.
    pub function: String,
    /// Whether it is inlined into the next one.
    pub inlined: bool,
    /// Where in it: of the innermost the instruction itself, of others the call.
    pub line: Option<SourceLine>,
}

/// Debug information that exists, but not here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Absent {
    /// `dwz` moved a part of it into a supplementary file, which is not read.
    Supplementary,
    /// Split units whose `.dwo` file (or package) was not found, or belongs to another compilation.
    Split {
        /// How many, of the units that were asked about.
        units: usize,
        /// The name of the first.
        first: String,
    },
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Absent::Supplementary => f.write_str(
                "a part of the debug information is in a supplementary file (dwz), which is not read",
            ),
            Absent::Split { units, first } => {
                write!(f, "split debug information was not found: {first}")?;
                if *units > 1 { write!(f, " and {} more", units - 1) } else { Ok(()) }
            }
        }
    }
}

struct Slot {
    header: UnitHeader<Bytes>,
    loaded: OnceLock<Option<Unit>>,
}

/// The debug information of an image.
pub struct Debug {
    dwarf: Arc<Dwarf<Bytes>>,
    files: Arc<dyn Files>,
    package: OnceLock<Option<DwarfPackage<Bytes>>>,
    units: Vec<Slot>,
    /// (start, end, unit), by start.
    index: OnceLock<Vec<(u64, u64, u32)>>,
    /// What all type units know.
    type_units: OnceLock<Types>,
    frames: Frames,
    supplementary: bool,
    /// Split units that were not found, of those that were forgotten since.
    missing: BTreeMap<usize, String>,
    /// Symbols for instructions without debug information: (start, end, name).
    symbols: Vec<(u64, u64, String)>,
}

impl Debug {
    /// Opens the debug information of an image: its own, or that of its separate debug file.
    pub fn new(image: &Image, files: Arc<dyn Files>) -> Debug {
        let separate = if image.has_debug_info() { None } else { separate(image, &*files) };
        let source = separate.as_ref().unwrap_or(image);
        let dwarf = Arc::new(load(source, DwarfFileType::Main));
        let supplementary =
            source.section(".gnu_debugaltlink").is_some() || source.section(".debug_sup").is_some();
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            units.push(Slot { header, loaded: OnceLock::new() });
        }
        let named = separate.as_ref().filter(|separate| separate.symbols().len() > image.symbols().len());
        let mut symbols: Vec<_> = named
            .unwrap_or(image)
            .symbols()
            .iter()
            .filter(|symbol| symbol.function)
            .map(|symbol| (symbol.addr, symbol.addr.saturating_add(symbol.size.max(1)), symbol.name.clone()))
            .collect();
        symbols.dedup_by_key(|symbol| symbol.0);
        Debug {
            dwarf,
            files,
            package: OnceLock::new(),
            units,
            index: OnceLock::new(),
            type_units: OnceLock::new(),
            frames: Frames::new(image),
            supplementary,
            missing: BTreeMap::new(),
            symbols,
        }
    }

    /// The functions that an instruction belongs to, innermost first. Without debug information: the symbol.
    pub fn frames(&self, pc: u64) -> Vec<Frame> {
        let Some((unit, chain)) = self.chain(pc) else {
            // Assembly, and what clang's line tables leave out, has lines all the same.
            let line = self.line(pc);
            let named = self.symbol(pc).into_iter();
            return named.map(|function| Frame { function, inlined: false, line: line.clone() }).collect();
        };
        let innermost = chain.first().copied().unwrap_or(NONE);
        self.frames_from(unit, innermost, self.line_in(unit, pc))
    }

    /// A function and those that it is inlined into, innermost first; `line` is the place in the innermost.
    pub(crate) fn frames_from(
        &self,
        unit: &Unit,
        innermost: u32,
        mut line: Option<SourceLine>,
    ) -> Vec<Frame> {
        let mut frames = Vec::new();
        let mut at = innermost;
        while at != NONE {
            let node = &unit.nodes[at as usize];
            let function = self.name(unit, node).unwrap_or_else(|| "?".to_owned());
            frames.push(Frame { function, inlined: node.inlined(), line });
            line = self.call_line(unit, node.call);
            at = node.parent;
        }
        frames
    }

    /// File, line and column of an instruction.
    pub fn line(&self, pc: u64) -> Option<SourceLine> {
        self.line_in(self.unit_at(pc)?, pc)
    }

    /// How the CFA is computed at an instruction.
    pub fn cfa(&self, pc: u64) -> Option<Cfa> {
        self.frames.cfa(pc)
    }

    /// How many units there are, and how many of them had to be read so far.
    pub fn units(&self) -> (usize, usize) {
        (self.units.len(), self.units.iter().filter(|slot| slot.loaded.get().is_some()).count())
    }

    /// How many bytes of debug information the units have that are in memory, which takes several times as much.
    pub fn weight(&self) -> usize {
        let loaded = self.units.iter().filter(|slot| slot.loaded.get().is_some());
        loaded.map(|slot| slot.header.length_including_self()).sum()
    }

    /// Gives back the memory of all units; they are read again when they are asked for.
    pub fn forget(&mut self) {
        self.missing = self.split_missing();
        self.units.iter_mut().for_each(|slot| drop(slot.loaded.take()));
    }

    /// Debug information that is missing, as far as it was asked for.
    pub fn absent(&self) -> Vec<Absent> {
        let mut absent = Vec::new();
        if self.supplementary {
            absent.push(Absent::Supplementary);
        }
        let missing = self.split_missing();
        if let Some(first) = missing.values().next() {
            absent.push(Absent::Split { units: missing.len(), first: first.clone() });
        }
        absent
    }

    /// The split units that were asked for and not found, by number.
    fn split_missing(&self) -> BTreeMap<usize, String> {
        let mut missing = self.missing.clone();
        for (at, slot) in self.units.iter().enumerate() {
            let unit = slot.loaded.get().and_then(Option::as_ref);
            if let Some(name) = unit.and_then(|unit| unit.unsplit(&self.dwarf)) {
                missing.insert(at, name);
            }
        }
        missing
    }

    fn line_in(&self, unit: &Unit, pc: u64) -> Option<SourceLine> {
        let row = unit.lines().at(pc)?;
        Some(SourceLine { file: unit.line_file(row.file?)?, line: row.line, column: row.column })
    }

    pub(crate) fn call_line(&self, unit: &Unit, call: CallSite) -> Option<SourceLine> {
        Some(SourceLine { file: unit.attribute_file(call.file?)?, line: call.line, column: call.column })
    }

    fn symbol(&self, pc: u64) -> Option<String> {
        let at = self.symbols.partition_point(|&(start, _, _)| start <= pc).checked_sub(1)?;
        let (_, end, name) = &self.symbols[at];
        (pc < *end).then(|| demangle(name))
    }

    /// The unit of an instruction, and the nodes that it lies in, innermost first.
    pub(crate) fn chain(&self, pc: u64) -> Option<(&Unit, Vec<u32>)> {
        let unit = self.unit_at(pc)?;
        let chain = unit.chain(pc);
        (!chain.is_empty()).then_some((unit, chain))
    }

    /// The same for each function that the instruction belongs to: a linker that folds identical functions leaves the
    /// debug information of all of them at one address (gold's `--icf`).
    pub(crate) fn chains(&self, pc: u64) -> Vec<(&Unit, Vec<u32>)> {
        let index = self.index.get_or_init(|| self.read_index());
        let end = index.partition_point(|&(start, _, _)| start <= pc);
        let covering = index[..end].iter().rev().take(16).filter(|&&(_, end, _)| pc < end);
        let mut units: Vec<u32> = covering.map(|&(_, _, unit)| unit).collect();
        units.dedup();
        let units = units.into_iter().filter_map(|unit| self.load(unit as usize));
        units
            .flat_map(|unit| unit.functions_at(pc).map(move |function| (unit, unit.chain_in(function, pc))))
            .collect()
    }

    /// What is known of variables and their types where a function was written: by its own unit, by those that its
    /// parts come from (link-time optimisation), and by type units.
    pub(crate) fn types<'a>(&'a self, unit: &'a Unit, node: u32) -> Vec<&'a Types> {
        let mut types = vec![unit.types()];
        let (mut at, mut entry) = (unit, unit.nodes[node as usize].entry);
        for _ in 0..MAX_HOPS {
            let origin = at.routine(entry).and_then(|routine| routine.origin);
            let Some((next, of)) = origin.and_then(|target| self.follow(at, target)) else { break };
            if !std::ptr::eq(next, at) {
                types.push(next.types());
            }
            (at, entry) = (next, of);
        }
        types.push(self.type_units.get_or_init(|| Types::of_type_units(&self.dwarf)));
        types
    }

    pub(crate) fn unit_at(&self, pc: u64) -> Option<&Unit> {
        let index = self.index.get_or_init(|| self.read_index());
        let end = index.partition_point(|&(start, _, _)| start <= pc);
        let (_, _, unit) = index[..end].iter().rev().take(16).find(|&&(_, end, _)| pc < end)?;
        self.load(*unit as usize)
    }

    /// The units that have code, by number.
    pub fn code_units(&self) -> Vec<u32> {
        let index = self.index.get_or_init(|| self.read_index());
        let units: BTreeSet<u32> = index.iter().map(|&(_, _, unit)| unit).collect();
        units.into_iter().collect()
    }

    /// The opened files.
    pub(crate) fn files(&self) -> &dyn Files {
        &*self.files
    }

    /// Path (namespaces, types, name) and linkage name of the function that an entry is about.
    pub(crate) fn path<'a>(
        &'a self,
        unit: &'a Unit,
        entry: UnitOffset,
    ) -> (Option<Vec<String>>, Option<String>) {
        let (mut unit, mut entry) = (unit, entry);
        let (mut path, mut linkage) = (None, None);
        for _ in 0..MAX_HOPS {
            let Some(routine) = unit.routine(entry) else { break };
            linkage = linkage.or_else(|| unit.linkage(routine));
            // The last entry of the chain is the declaration, inside its class: its path is the longest.
            path = unit.path(routine).or(path);
            match routine.origin.and_then(|target| self.follow(unit, target)) {
                Some(next) => (unit, entry) = next,
                None => break,
            }
        }
        (path, linkage)
    }

    /// Where the function that an entry is about was written.
    pub(crate) fn declared(&self, unit: &Unit, entry: UnitOffset) -> Option<SourceLine> {
        let (mut unit, mut entry) = (unit, entry);
        let (mut file, mut line) = (None, None);
        for _ in 0..MAX_HOPS {
            let die = unit.unit.entry(entry).ok()?;
            let number = |value: gimli::AttributeValue<Bytes>| match value {
                gimli::AttributeValue::FileIndex(index) => Some(index),
                value => value.udata_value(),
            };
            let index = die.attr_value(gimli::DW_AT_decl_file).and_then(number);
            // A definition repeats of its declaration only what is different.
            file = file.or_else(|| unit.attribute_file(index?));
            line = line.or_else(|| u32::try_from(number(die.attr_value(gimli::DW_AT_decl_line)?)?).ok());
            match unit.routine(entry)?.origin.and_then(|target| self.follow(unit, target)) {
                Some(next) if file.is_none() || line.is_none() => (unit, entry) = next,
                _ => break,
            }
        }
        Some(SourceLine { file: file?, line: line?, column: 0 })
    }

    fn name(&self, unit: &Unit, node: &Node) -> Option<String> {
        let (path, linkage) = self.path(unit, node.entry);
        if let Some(linkage) = linkage {
            return Some(demangle(&linkage));
        }
        // Line tables alone have bare names: the symbol of a real function says more.
        let bare = path.as_ref().is_none_or(|path| path.len() == 1) && !node.inlined();
        bare.then(|| self.symbol(node.entry_pc?)).flatten().or_else(|| path.map(|path| path.join("::")))
    }

    /// The entry that a reference means.
    pub(crate) fn follow<'a>(&'a self, unit: &'a Unit, target: Target) -> Option<(&'a Unit, UnitOffset)> {
        match target {
            Target::Local(entry) => Some((unit, entry)),
            Target::Global(offset) => {
                let start = |slot: &Slot| slot.header.offset().0;
                let at = self.units.partition_point(|slot| start(slot) <= offset).checked_sub(1)?;
                let entry = UnitOffset(offset - start(&self.units[at]));
                self.load(at).map(|unit| (unit, entry))
            }
        }
    }

    /// The address ranges of the units: from `.debug_aranges` where a unit is in it, else from the unit itself.
    fn read_index(&self) -> Vec<(u64, u64, u32)> {
        let mut ranges: BTreeMap<usize, Vec<(u64, u64)>> = BTreeMap::new();
        let mut headers = self.dwarf.debug_aranges.headers();
        while let Ok(Some(header)) = headers.next() {
            let mut entries = header.entries();
            while let Ok(Some(entry)) = entries.next() {
                let (start, len) = (entry.address(), entry.length());
                ranges
                    .entry(header.debug_info_offset().0)
                    .or_default()
                    .push((start, start.saturating_add(len)));
            }
        }
        let mut index = Vec::new();
        for (at, slot) in self.units.iter().enumerate() {
            let known = ranges.remove(&slot.header.offset().0).unwrap_or_else(|| self.unit_ranges(slot));
            let real = known.into_iter().filter(|&(start, end)| start != 0 && start < end);
            index.extend(real.map(|(start, end)| (start, end, at as u32)));
        }
        index.sort_unstable();
        index
    }

    fn unit_ranges(&self, slot: &Slot) -> Vec<(u64, u64)> {
        let mut ranges = Vec::new();
        if let Ok(unit) = self.dwarf.unit(slot.header.clone())
            && let Ok(mut iter) = self.dwarf.unit_ranges(&unit)
        {
            while let Ok(Some(range)) = iter.next()
                && ranges.len() < 1 << 16
            {
                ranges.push((range.begin, range.end));
            }
        }
        ranges
    }

    pub(crate) fn load(&self, at: usize) -> Option<&Unit> {
        let slot = self.units.get(at)?;
        let read = || {
            let unit = self.dwarf.unit(slot.header.clone()).ok()?;
            let Some(split) = self.split(&unit) else {
                return Some(Unit::read(Arc::clone(&self.dwarf), unit, None));
            };
            let header = compiled(&split)?;
            let mut whole = split.unit(header).ok()?;
            whole.copy_relocated_attributes(&unit);
            Some(Unit::read(Arc::new(split), whole, Some((Arc::clone(&self.dwarf), unit))))
        };
        slot.loaded.get_or_init(read).as_ref()
    }

    /// The split part of a skeleton unit: from the package, else from its own file.
    fn split(&self, skeleton: &gimli::Unit<Bytes>) -> Option<Dwarf<Bytes>> {
        let id = skeleton.dwo_id?;
        let name = self.dwarf.attr_string(skeleton, skeleton.dwo_name().ok()??).ok()?;
        let directory = skeleton.comp_dir.as_ref().map(text).unwrap_or_default();
        let name = name.to_string_lossy().ok()?;
        let package = self.package.get_or_init(|| {
            let image = Image::parse(self.files.open(DebugFile::Dwp)?).ok()?;
            DwarfPackage::load(|id| section(&image, id.dwo_name()), empty()).ok()
        });
        if let Some(package) = package
            && let Ok(Some(dwarf)) = package.find_cu(id, &self.dwarf)
        {
            return Some(dwarf);
        }
        let file = self.files.open(DebugFile::Dwo { directory: &directory, name: &name })?;
        let mut dwarf = load(&Image::parse(file).ok()?, DwarfFileType::Dwo);
        dwarf.make_dwo(&self.dwarf);
        // A file that belongs to another compilation would give wrong orders: the ids must agree.
        let unit = dwarf.unit(compiled(&dwarf)?).ok()?;
        (unit.dwo_id == Some(id)).then_some(dwarf)
    }
}

/// The first unit that is not one of types.
fn compiled(dwarf: &Dwarf<Bytes>) -> Option<UnitHeader<Bytes>> {
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        if !matches!(header.type_(), gimli::UnitType::Type { .. } | gimli::UnitType::SplitType { .. }) {
            return Some(header);
        }
    }
    None
}

/// The separate debug file of an image, if it can be had and has the same build-id.
fn separate(image: &Image, files: &dyn Files) -> Option<Image> {
    let by_id = image.build_id().and_then(|id| files.open(DebugFile::BuildId(id)));
    let by_link = || {
        let link = image.debug_link()?;
        files.open(DebugFile::DebugLink { name: &link.name, crc: link.crc })
    };
    let separate = Image::parse(by_id.or_else(by_link)?).ok()?;
    (separate.build_id() == image.build_id() || image.build_id().is_none()).then_some(separate)
}

fn empty() -> Bytes {
    Bytes::new(Arc::from([]), gimli::LittleEndian)
}

fn section(image: &Image, name: Option<&str>) -> Result<Bytes, gimli::Error> {
    Ok(name.and_then(|name| image.section(name)).unwrap_or_else(empty))
}

fn load(image: &Image, kind: DwarfFileType) -> Dwarf<Bytes> {
    let name = |id: SectionId| match kind {
        DwarfFileType::Main => Some(id.name()),
        DwarfFileType::Dwo => id.dwo_name(),
    };
    let mut dwarf = Dwarf::load(|id| section(image, name(id))).expect("loading never fails");
    dwarf.file_type = kind;
    dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
    dwarf
}
