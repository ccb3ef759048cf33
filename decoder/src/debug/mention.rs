//! Which units can have a function of a given name, without reading them: for a question about one function of a
//! large program.
//!
//! A unit that has an entry called so has the name somewhere: in its own bytes, as the offset of a string in
//! `.debug_str`, or as such an offset in its part of `.debug_str_offsets`. Looking for these is a walk over bytes,
//! much faster than reading the unit and without memory; but a small offset is found in every unit, so in what is
//! left the names of the functions are looked at, past all other entries. The answer errs on one side only: a unit
//! that is left out has no function of that name. What cannot be told so (split units, references into other
//! units, forms chosen entry by entry, malformed entries) is kept.

use super::Debug;
use crate::image::Bytes;
use gimli::{Reader as _, Section as _, UnitHeader};
use memchr::memmem;
use std::collections::BTreeMap;

/// What the abbreviations that a unit uses tell about it.
#[derive(Clone, Copy, Default, Debug)]
struct Forms {
    /// Strings by index.
    indexed: bool,
    /// References into other units, or into other files.
    across: bool,
    /// The entries are in a file of their own, or a form is not known before the entry is read.
    doubtful: bool,
}

/// The offsets in `.debug_str` at which a string begins, or its end if strings share it, that contains a word.
struct Offsets(Vec<u64>);

impl Offsets {
    fn new(strings: &[u8], word: &str) -> Offsets {
        let mut bits = vec![0; strings.len().div_ceil(64)];
        let mut from = 0;
        for at in memmem::find_iter(strings, word.as_bytes()) {
            let start = memchr::memrchr(0, &strings[from..at]).map_or(from, |zero| from + zero + 1);
            (start..=at).for_each(|offset| bits[offset / 64] |= 1 << (offset % 64));
            from = at + 1;
        }
        Offsets(bits)
    }

    /// Whether any four bytes in a row, wherever they begin, are such an offset. Of an eight-byte offset they are the
    /// lower half.
    fn any_in(&self, bytes: &[u8]) -> bool {
        bytes.windows(4).any(|four| {
            let offset = u32::from_le_bytes([four[0], four[1], four[2], four[3]]) as usize;
            self.0.get(offset / 64).is_some_and(|word| word >> (offset % 64) & 1 != 0)
        })
    }
}

impl Debug {
    /// From now on only the units that may have a function whose name, or linkage name, contains `word`, and those
    /// of the instructions in `also`, are there; the others are as if they had no code.
    pub fn only(&mut self, word: &str, also: &[u64]) {
        if word.is_empty() {
            return;
        }
        let index = self.index.take().unwrap_or_else(|| self.read_index());
        let strings = self.dwarf.debug_str.reader().bytes();
        let offsets = Offsets::new(strings, word);
        let inline = memmem::Finder::new(word);
        let mut tables = BTreeMap::new();
        let mut kept = Vec::with_capacity(self.units.len());
        let mut across = Vec::with_capacity(self.units.len());
        for slot in &self.units {
            let table = slot.header.debug_abbrev_offset().0;
            let forms = *tables.entry(table).or_insert_with(|| self.forms(table));
            let bytes = self.unit_bytes(&slot.header);
            let mentioned = || {
                inline.find(bytes).is_some()
                    || offsets.any_in(bytes)
                    || forms.indexed && self.indexes(&slot.header, &offsets)
            };
            let called = || self.has_function(&slot.header, &inline).unwrap_or(true);
            kept.push(forms.doubtful || mentioned() && called());
            across.push(forms.across);
        }
        // The name of an inlined function may be in another unit.
        if kept.contains(&true) {
            kept.iter_mut().zip(across).for_each(|(kept, across)| *kept |= across);
        }
        for &pc in also {
            let end = index.partition_point(|&(start, _, _)| start <= pc);
            let covering = index[..end].iter().rev().take(16).filter(|&&(_, end, _)| pc < end);
            covering.for_each(|&(_, _, unit)| kept[unit as usize] = true);
        }
        let left: Vec<_> = index.into_iter().filter(|&(_, _, unit)| kept[unit as usize]).collect();
        self.index = std::sync::OnceLock::from(left);
    }

    /// Whether a unit says something about an address of the range.
    pub fn covers(&self, start: u64, end: u64) -> bool {
        let index = self.index.get_or_init(|| self.read_index());
        let before = index.partition_point(|&(from, _, _)| from < end);
        index[..before].iter().rev().take(16).any(|&(_, to, _)| start < to)
    }

    fn unit_bytes(&self, header: &UnitHeader<Bytes>) -> &[u8] {
        let (start, len) = (header.offset().0, header.length_including_self());
        let info = self.dwarf.debug_info.reader().bytes();
        info.get(start..start.saturating_add(len)).unwrap_or_default()
    }

    /// Whether a function of the unit has the word in its name.
    fn has_function(&self, header: &UnitHeader<Bytes>, word: &memmem::Finder<'_>) -> gimli::Result<bool> {
        let unit = self.dwarf.unit(header.clone())?;
        let mut entries = unit.entries_raw(None)?;
        while !entries.is_empty() {
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            if abbreviation.tag() != gimli::DW_TAG_subprogram {
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
            for &specification in abbreviation.attributes() {
                let attribute = entries.read_attribute(specification)?;
                if matches!(
                    attribute.name(),
                    gimli::DW_AT_name | gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name
                ) && word.find(self.dwarf.attr_string(&unit, attribute.value())?.bytes()).is_some()
                {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether the unit's part of `.debug_str_offsets` has one of the offsets.
    fn indexes(&self, header: &UnitHeader<Bytes>, offsets: &Offsets) -> bool {
        let Ok(unit) = self.dwarf.unit(header.clone()) else { return true };
        let table = self.dwarf.debug_str_offsets.reader().bytes();
        let base = unit.str_offsets_base.0;
        // The length stands before version and padding, four bytes; a unit without any (GNU's DWARF 4) may use all.
        let word = usize::from(header.format().word_size());
        let length = base.checked_sub(4 + word).and_then(|at| table.get(at..at + 4));
        let part = match length {
            Some(&[a, b, c, d]) => {
                let end = base.saturating_add(u32::from_le_bytes([a, b, c, d]) as usize);
                table.get(base..end.min(table.len()))
            }
            _ => Some(table),
        };
        part.is_none_or(|part| offsets.any_in(part))
    }

    /// The forms of a table of abbreviations; what is malformed is doubtful.
    fn forms(&self, offset: usize) -> Forms {
        let doubtful = Forms { doubtful: true, ..Forms::default() };
        let mut reader = self.dwarf.debug_abbrev.reader().clone();
        if reader.skip(offset).is_err() {
            return doubtful;
        }
        read_forms(&mut reader).unwrap_or(doubtful)
    }
}

fn read_forms(reader: &mut Bytes) -> gimli::Result<Forms> {
    let mut forms = Forms::default();
    // A code of 0 ends the table, two zeros the attributes of an entry (DWARF 5, §7.5.3).
    while reader.read_uleb128()? != 0 {
        reader.read_uleb128()?;
        reader.read_u8()?;
        loop {
            let (name, form) =
                (gimli::DwAt(reader.read_uleb128_u16()?), gimli::DwForm(reader.read_uleb128_u16()?));
            if name.0 == 0 && form.0 == 0 {
                break;
            }
            forms.doubtful |= matches!(name, gimli::DW_AT_dwo_name | gimli::DW_AT_GNU_dwo_name);
            match form {
                gimli::DW_FORM_implicit_const => {
                    reader.read_sleb128()?;
                }
                gimli::DW_FORM_indirect => forms.doubtful = true,
                gimli::DW_FORM_strx
                | gimli::DW_FORM_strx1
                | gimli::DW_FORM_strx2
                | gimli::DW_FORM_strx3
                | gimli::DW_FORM_strx4
                | gimli::DW_FORM_GNU_str_index => forms.indexed = true,
                gimli::DW_FORM_ref_addr
                | gimli::DW_FORM_ref_sup4
                | gimli::DW_FORM_ref_sup8
                | gimli::DW_FORM_GNU_ref_alt => forms.across = true,
                gimli::DW_FORM_strp_sup | gimli::DW_FORM_GNU_strp_alt => forms.doubtful = true,
                _ => {}
            }
        }
    }
    Ok(forms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_string_counts_from_its_start_to_the_word() {
        let offsets = Offsets::new(b"zero\0repush\0pop\0push pushed\0", "push");
        let found: Vec<u32> = (0..40).filter(|n: &u32| offsets.any_in(&n.to_le_bytes())).collect();
        assert_eq!(found, [5, 6, 7, 16, 17, 18, 19, 20, 21]);
        // Wherever it stands, but not across the end.
        assert!(offsets.any_in(&[9, 9, 9, 5, 0, 0, 0]) && !offsets.any_in(&[9, 5, 0, 0]));
    }

    #[test]
    fn forms_of_a_table() {
        let read = |bytes: &[u8]| read_forms(&mut Bytes::new(Arc::from(bytes), gimli::LittleEndian));
        // compile_unit: name strx1, implicit_const 300; end. subprogram: specification ref_addr; end.
        let forms =
            read(&[1, 0x11, 1, 3, 0x25, 0x3a, 0x21, 0xac, 0x02, 0, 0, 2, 0x2e, 0, 0x47, 0x10, 0, 0, 0]);
        let forms = forms.expect("well-formed");
        assert!(forms.indexed && forms.across && !forms.doubtful);
        assert!(read(&[1, 0x11, 1, 0x76, 0x0e, 0, 0, 0]).expect("well-formed").doubtful, "a split unit");
        assert!(read(&[1, 0x11]).is_err());
    }
}
