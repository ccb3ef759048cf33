//! One ELF file as the decoder sees it: its machine code, its symbols, its debug sections, and how to find the
//! files that belong to it.
//!
//! An [`Image`] owns the bytes of the file and never copies a section unless it is compressed. All addresses
//! are those of the file (no load bias). Input may be hostile: whatever is out of bounds is absent or an
//! [`ImageError`], and nothing here allocates more than the file itself suggests, up to [`MAX_SECTION`].

use crate::effect::Arch;
use gimli::{EndianArcSlice, LittleEndian};
use object::read::elf::ElfFile64;
use object::{
    CompressionFormat, Object as _, ObjectSection as _, ObjectSegment as _, ObjectSymbol as _,
    ObjectSymbolTable as _, SectionFlags, SymbolKind,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

/// Bytes of a section: a part of the file, shared.
pub type Bytes = EndianArcSlice<LittleEndian>;

/// The most bytes that a compressed section may unfold to.
pub const MAX_SECTION: u64 = 1 << 30;

/// Why a file is no image.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ImageError {
    /// It does not begin like an ELF file.
    #[error("not an ELF file")]
    NotElf,
    /// An ELF file of a kind that wmtrace cannot run.
    #[error("unsupported ELF file: {what} (only little-endian ELF64 for x86-64 and AArch64 is)")]
    Unsupported {
        /// What is unusual about it.
        what: String,
    },
    /// Its tables contradict themselves.
    #[error("malformed ELF file: {what}")]
    Malformed {
        /// Which table, and how.
        what: String,
    },
}

/// A stretch of machine code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Code {
    /// The section's name; of segments, when there are no sections, empty.
    pub name: String,
    /// Where it is.
    pub addr: u64,
    /// Its bytes.
    pub bytes: Bytes,
}

impl Code {
    /// The address after the last byte.
    pub fn end(&self) -> u64 {
        self.addr.saturating_add(self.bytes.bytes().len() as u64)
    }
}

/// A symbol that is defined in this file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// Where it is.
    pub addr: u64,
    /// How many bytes; 0: not said.
    pub size: u64,
    /// Its name as the linker knows it.
    pub name: String,
    /// Whether it is a function (else data).
    pub function: bool,
}

/// The extent of a function, by its symbol or by its unwind information.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Its first instruction.
    pub start: u64,
    /// The address after its last byte.
    pub end: u64,
    /// Its linkage name, if a symbol gives it one.
    pub name: Option<String>,
}

/// Where the separate debug file is, as `.gnu_debuglink` says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DebugLink {
    /// The file's name.
    pub name: String,
    /// The CRC-32 of its contents.
    pub crc: u32,
}

#[derive(Debug)]
struct Section {
    addr: u64,
    size: u64,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// In the file, as it is.
    File(Bytes),
    /// Compressed in the file; unfolded when it is first asked for.
    Compressed(object::read::CompressedFileRange, OnceLock<Option<Bytes>>),
}

/// A parsed ELF file.
#[derive(Debug)]
pub struct Image {
    data: Arc<[u8]>,
    arch: Arch,
    sections: BTreeMap<String, Section>,
    code: Vec<Code>,
    symbols: Vec<Symbol>,
    build_id: Option<Vec<u8>>,
    debug_link: Option<DebugLink>,
    entry: u64,
    imports: OnceLock<BTreeMap<u64, String>>,
}

impl Image {
    /// Parses a file.
    pub fn parse(data: Arc<[u8]>) -> Result<Image, ImageError> {
        let arch = machine(&data)?;
        let malformed =
            |what: &str, error: object::Error| ImageError::Malformed { what: format!("{what}: {error}") };
        let elf = ElfFile64::<object::LittleEndian, &[u8]>::parse(&data[..])
            .map_err(|error| malformed("headers", error))?;
        let whole = Bytes::new(Arc::clone(&data), LittleEndian);
        let part = |offset: u64, size: u64| {
            let (start, end) =
                (usize::try_from(offset).ok()?, usize::try_from(offset.checked_add(size)?).ok()?);
            (end <= data.len()).then(|| whole.range(start..end))
        };

        let mut sections = BTreeMap::new();
        let mut code = Vec::new();
        for section in elf.sections() {
            let Ok(name) = section.name() else { continue };
            let Ok(range) = section.compressed_file_range() else { continue };
            let place = match range.format {
                CompressionFormat::None => match part(range.offset, range.uncompressed_size) {
                    Some(bytes) => Place::File(bytes),
                    None => continue,
                },
                _ => Place::Compressed(range, OnceLock::new()),
            };
            if let Place::File(bytes) = &place
                && is_code(&section)
            {
                code.push(Code { name: name.into(), addr: section.address(), bytes: bytes.clone() });
            }
            // GNU's old way of compressing renames the section.
            let name = name.strip_prefix(".z").map_or_else(|| name.to_owned(), |rest| format!(".{rest}"));
            sections.entry(name).or_insert(Section { addr: section.address(), size: section.size(), place });
        }
        if code.is_empty() {
            for segment in elf.segments() {
                let (offset, size) = segment.file_range();
                if segment.permissions().executable()
                    && let Some(bytes) = part(offset, size)
                {
                    code.push(Code { name: String::new(), addr: segment.address(), bytes });
                }
            }
        }
        code.sort_by_key(|code| code.addr);

        let mut symbols: Vec<Symbol> = elf
            .symbols()
            .chain(elf.dynamic_symbols())
            .filter(object::ObjectSymbol::is_definition)
            .filter_map(|symbol| {
                let function = match symbol.kind() {
                    SymbolKind::Text => true,
                    SymbolKind::Data | SymbolKind::Unknown => false,
                    _ => return None,
                };
                let name = symbol.name().ok().filter(|name| !name.is_empty())?;
                Some(Symbol { addr: symbol.address(), size: symbol.size(), name: name.into(), function })
            })
            .collect();
        symbols.sort_by(|a, b| (a.addr, !a.function, &a.name).cmp(&(b.addr, !b.function, &b.name)));
        symbols.dedup();

        let build_id = elf.build_id().ok().flatten().map(<[u8]>::to_vec);
        let debug_link =
            elf.gnu_debuglink().ok().flatten().and_then(|(name, crc)| {
                Some(DebugLink { name: String::from_utf8(name.to_vec()).ok()?, crc })
            });
        let entry = elf.entry();
        Ok(Image {
            arch,
            sections,
            code,
            symbols,
            build_id,
            debug_link,
            entry,
            imports: OnceLock::new(),
            data,
        })
    }

    /// The architecture of its code.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Where the program begins.
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// Its executable sections, lowest address first.
    pub fn code(&self) -> &[Code] {
        &self.code
    }

    /// The bytes from an address in an executable section to the end of the section.
    pub fn code_at(&self, addr: u64) -> Option<&[u8]> {
        let at = self.code.partition_point(|code| code.addr <= addr).checked_sub(1)?;
        let code = &self.code[at];
        code.bytes.bytes().get(usize::try_from(addr - code.addr).ok()?..).filter(|bytes| !bytes.is_empty())
    }

    /// The symbols defined in it (`.symtab` and `.dynsym`), by address.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// The symbol that an address lies in.
    pub fn symbol_at(&self, addr: u64) -> Option<&Symbol> {
        let end = self.symbols.partition_point(|symbol| symbol.addr <= addr);
        // Symbols nest rarely, and then shallowly: a few steps back find the one.
        self.symbols[..end].iter().rev().take(16).find(|s| addr - s.addr < s.size.max(1))
    }

    /// The pointers that the dynamic linker fills in with the address of a symbol, by their place: the symbol's name.
    pub fn imports(&self) -> &BTreeMap<u64, String> {
        self.imports.get_or_init(|| {
            let mut imports = BTreeMap::new();
            let Ok(elf) = ElfFile64::<object::LittleEndian, &[u8]>::parse(&self.data[..]) else {
                return imports;
            };
            let Some(symbols) = elf.dynamic_symbol_table() else { return imports };
            for (slot, relocation) in elf.dynamic_relocations().into_iter().flatten() {
                if let object::RelocationTarget::Symbol(index) = relocation.target()
                    && let Ok(symbol) = symbols.symbol_by_index(index)
                    && let Ok(name) = symbol.name()
                {
                    imports.insert(slot, name.to_owned());
                }
            }
            imports
        })
    }

    /// What mapping symbols say of the bytes of executable sections: where data begins (`true`), and where code does
    /// (ELF for the Arm 64-bit Architecture, "Mapping symbols"). Compilers mark their debug sections, too.
    pub fn marks(&self) -> BTreeMap<u64, bool> {
        let Ok(elf) = ElfFile64::<object::LittleEndian, &[u8]>::parse(&self.data[..]) else {
            return BTreeMap::new();
        };
        let code: BTreeSet<usize> = elf.sections().filter(is_code).map(|section| section.index().0).collect();
        let marks = elf.symbols().filter_map(|symbol| {
            let is_data = match symbol.name_bytes().ok()?.get(..2)? {
                b"$d" => true,
                b"$x" => false,
                _ => return None,
            };
            code.contains(&symbol.section_index()?.0).then(|| (symbol.address(), is_data))
        });
        marks.collect()
    }

    /// The build-id.
    pub fn build_id(&self) -> Option<&[u8]> {
        self.build_id.as_deref()
    }

    /// The name of its separate debug file.
    pub fn debug_link(&self) -> Option<&DebugLink> {
        self.debug_link.as_ref()
    }

    /// A section's bytes, unfolded if they are compressed.
    pub fn section(&self, name: &str) -> Option<Bytes> {
        match &self.sections.get(name)?.place {
            Place::File(bytes) => Some(bytes.clone()),
            Place::Compressed(range, unfolded) => unfolded.get_or_init(|| self.unfold(range)).clone(),
        }
    }

    /// Where a section is in memory, and how long it is.
    pub fn section_range(&self, name: &str) -> Option<(u64, u64)> {
        self.sections.get(name).map(|section| (section.addr, section.size))
    }

    /// Whether the file has debug information of its own.
    pub fn has_debug_info(&self) -> bool {
        self.sections.contains_key(".debug_info") || self.sections.contains_key(".debug_info.dwo")
    }

    fn unfold(&self, range: &object::read::CompressedFileRange) -> Option<Bytes> {
        // zlib's best is about 1:1032; a section that claims more is a bomb.
        if range.uncompressed_size > MAX_SECTION
            || range.uncompressed_size > range.compressed_size.saturating_mul(1100).saturating_add(1 << 16)
        {
            return None;
        }
        let data = range.data(&self.data[..]).ok()?.decompress().ok()?;
        Some(Bytes::new(Arc::from(data.into_owned()), LittleEndian))
    }

    /// The extents of its functions: by symbols where there are any with a size, and by `.eh_frame` for the rest.
    pub fn functions(&self) -> Vec<Function> {
        let inside = |start: u64, end: u64| {
            start < end && self.code.iter().any(|code| code.addr <= start && end <= code.end())
        };
        let mut found: BTreeMap<u64, Function> = BTreeMap::new();
        for symbol in self.symbols.iter().filter(|symbol| symbol.function && symbol.size > 0) {
            let end = symbol.addr.saturating_add(symbol.size);
            if inside(symbol.addr, end) {
                found.entry(symbol.addr).or_insert_with(|| Function {
                    start: symbol.addr,
                    end,
                    name: Some(symbol.name.clone()),
                });
            }
        }
        for (start, end) in crate::debug::Frames::new(self).ranges() {
            let before = found.range(..=start).next_back();
            if inside(start, end) && before.is_none_or(|(_, function)| function.end <= start) {
                // Of the symbols at one address functions come first.
                let at = self.symbols.partition_point(|symbol| symbol.addr < start);
                let symbol = self.symbols.get(at).filter(|symbol| symbol.addr == start && symbol.function);
                found.insert(start, Function { start, end, name: symbol.map(|s| s.name.clone()) });
            }
        }
        found.into_values().collect()
    }
}

/// Whether a section is loaded, and may be executed.
fn is_code<'data>(section: &impl object::ObjectSection<'data>) -> bool {
    let wanted = object::elf::SHF_ALLOC.0 | object::elf::SHF_EXECINSTR.0;
    matches!(section.flags(), SectionFlags::Elf { sh_flags, .. } if sh_flags.0 & wanted == wanted)
}

/// The architecture, or what keeps wmtrace from running the file.
fn machine(data: &[u8]) -> Result<Arch, ImageError> {
    let unsupported = |what: String| Err(ImageError::Unsupported { what });
    if data.get(..4) != Some(b"\x7fELF") {
        return Err(ImageError::NotElf);
    }
    let Some(head) = data.get(..20) else {
        return Err(ImageError::Malformed { what: "the file ends in its header".into() });
    };
    match head[4] {
        2 => {}
        1 => return unsupported("a 32-bit file".into()),
        class => return unsupported(format!("class {class}")),
    }
    match head[5] {
        1 => {}
        2 => return unsupported("a big-endian file".into()),
        data => return unsupported(format!("data encoding {data}")),
    }
    match u16::from_le_bytes([head[18], head[19]]) {
        62 => Ok(Arch::X86_64),
        183 => Ok(Arch::Aarch64),
        other => unsupported(format!("machine {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(bytes: &[u8]) -> ImageError {
        Image::parse(Arc::from(bytes)).unwrap_err()
    }

    #[test]
    fn what_is_not_ours_says_why() {
        assert_eq!(error(b"#!/bin/sh"), ImageError::NotElf);
        assert!(matches!(error(b"\x7fELF"), ImageError::Malformed { .. }));
        let mut head = [0u8; 64];
        head[..6].copy_from_slice(b"\x7fELF\x01\x01");
        assert!(error(&head).to_string().contains("a 32-bit file"));
        head[4] = 2;
        head[18] = 243;
        assert!(error(&head).to_string().contains("machine 243"));
    }
}
