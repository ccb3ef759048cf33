//! ELF files under change (`elf(5)`): a segment more, another dynamic linker.

use super::asm::Va;

/// The alignment of the new segment: the largest page that AArch64 has.
pub(super) const ALIGN: u64 = 0x1_0000;

/// A file's bytes.
pub(super) struct Elf {
    pub(super) bytes: Vec<u8>,
}

/// A program header of a segment.
pub(super) struct Segment {
    pub(super) addr: u64,
    offset: u64,
    file: u64,
    pub(super) memory: u64,
}

const PT_LOAD: u32 = 1;
const PT_INTERP: u32 = 3;
const PT_NOTE: u32 = 4;
const PT_GNU_STACK: u32 = 0x6474_e551;
const PT_GNU_RELRO: u32 = 0x6474_e552;
const PT_GNU_PROPERTY: u32 = 0x6474_e553;
const HEADER: usize = 56;

impl Elf {
    fn u16_at(&self, at: usize) -> u16 {
        self.bytes.get(at..at + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
    }

    fn u64_at(&self, at: usize) -> u64 {
        self.bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
    }

    /// Where the program headers are in the file.
    fn headers(&self) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let (table, count) = (self.u64_at(32) as usize, usize::from(self.u16_at(56)));
        let fits = self.u16_at(54) == HEADER as u16
            && table.checked_add(count * HEADER).is_some_and(|end| end <= self.bytes.len());
        (0..if fits { count } else { 0 }).map(move |index| table + index * HEADER)
    }

    fn kind(&self, header: usize) -> u32 {
        self.u64_at(header) as u32
    }

    pub(super) fn loads(&self) -> impl Iterator<Item = Segment> {
        self.headers().filter(|&at| self.kind(at) == PT_LOAD).map(|at| Segment {
            offset: self.u64_at(at + 8),
            addr: self.u64_at(at + 16),
            file: self.u64_at(at + 32),
            memory: self.u64_at(at + 40),
        })
    }

    /// A header that the program runs without: notes, or what only makes memory read-only. At last the one that says that
    /// stacks are no code, and nothing of their size: so they are without it, but in glibc (whose programs have notes).
    pub(super) fn spare(&self) -> Option<usize> {
        const READ_WRITE: u64 = 6;
        let usual = [PT_NOTE, PT_GNU_PROPERTY, PT_GNU_RELRO]
            .into_iter()
            .find_map(|kind| self.headers().rev().find(|&at| self.kind(at) == kind));
        let says_nothing = |at: usize| self.u64_at(at) >> 32 == READ_WRITE && self.u64_at(at + 40) == 0;
        usual.or_else(|| self.headers().find(|&at| self.kind(at) == PT_GNU_STACK && says_nothing(at)))
    }

    pub(super) fn set_word(&mut self, addr: Va, word: u32) -> Option<()> {
        let segment = self.loads().find(|it| (it.addr..it.addr.saturating_add(it.file)).contains(&addr))?;
        let at = usize::try_from(addr - segment.addr + segment.offset).ok()?;
        self.bytes.get_mut(at..at + 4)?.copy_from_slice(&word.to_le_bytes());
        Some(())
    }

    fn set_u64(&mut self, at: usize, value: u64) {
        if let Some(bytes) = self.bytes.get_mut(at..at + 8) {
            bytes.copy_from_slice(&value.to_le_bytes());
        }
    }

    fn set_interpreter(&mut self, path: &str) -> Option<()> {
        let header = self.headers().find(|&at| self.kind(at) == PT_INTERP)?;
        let offset = self.bytes.len() as u64;
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.set_u64(header + 8, offset);
        self.set_u64(header + 32, path.len() as u64 + 1);
        Some(())
    }

    fn unfold(&mut self, header: usize) -> Option<()> {
        /// More than that is no dynamic linker's.
        const MOST: u64 = 64 << 20;
        let [from, addr, file, memory] = [8, 16, 32, 40].map(|at| self.u64_at(header + at));
        if self.kind(header) != PT_LOAD || memory <= file {
            return Some(());
        }
        let from = usize::try_from(from).ok()?;
        let content = self.bytes.get(from..from.checked_add(usize::try_from(file).ok()?)?)?.to_vec();
        if memory > MOST {
            return None;
        }
        let offset = (self.bytes.len() as u64).next_multiple_of(ALIGN) + addr % ALIGN;
        self.bytes.resize(offset as usize, 0);
        self.bytes.extend_from_slice(&content);
        self.bytes.resize((offset + memory) as usize, 0);
        self.set_u64(header + 8, offset);
        self.set_u64(header + 32, memory);
        Some(())
    }

    /// The spare header becomes a segment of code at `addr`, behind the other segments in the table as in memory.
    pub(super) fn append(&mut self, spare: usize, addr: Va, content: &[u8]) {
        const READ_EXECUTE: u32 = 5;
        let offset = (self.bytes.len() as u64).next_multiple_of(ALIGN);
        self.bytes.resize(offset as usize, 0);
        self.bytes.extend_from_slice(content);
        // Whole pages: kernels clear what follows the last segment in its page, and could not here.
        let length = (content.len() as u64).next_multiple_of(ALIGN);
        self.bytes.resize((offset + length) as usize, 0);
        let mut header = Vec::with_capacity(HEADER);
        header.extend(PT_LOAD.to_le_bytes());
        header.extend(READ_EXECUTE.to_le_bytes());
        for value in [offset, addr, addr, length, length, ALIGN] {
            header.extend(value.to_le_bytes());
        }
        let last = self.headers().rfind(|&at| self.kind(at) == PT_LOAD).unwrap_or(spare);
        // Those between it and its new place move up, or down.
        let place = if last < spare {
            self.bytes.copy_within(last + HEADER..spare, last + 2 * HEADER);
            last + HEADER
        } else {
            self.bytes.copy_within(spare + HEADER..last + HEADER, spare);
            last
        };
        self.bytes[place..place + HEADER].copy_from_slice(&header);
    }
}

/// Names another dynamic linker to the kernel. To itself, which looks at memory, that one has the name that it had. False:
/// the file has none.
pub(super) fn set_interpreter(bytes: &mut Vec<u8>, path: &str) -> bool {
    let mut elf = Elf { bytes: std::mem::take(bytes) };
    let done = elf.set_interpreter(path);
    *bytes = elf.bytes;
    done.is_some()
}

/// Makes what is only zero in memory part of the file. Kernels before 6.7 clear such memory of a dynamic linker only behind
/// its last segment, which is ours. False: the file is none that we would load.
pub(super) fn unfold(bytes: &mut Vec<u8>) -> bool {
    let mut elf = Elf { bytes: std::mem::take(bytes) };
    let done = elf.headers().try_for_each(|header| elf.unfold(header));
    *bytes = elf.bytes;
    done.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with a dynamic linker's name, a segment of zeroes behind some bytes, and a note.
    fn file() -> Vec<u8> {
        const TABLE: usize = 64;
        let mut bytes = vec![0; 0x400];
        bytes[32..40].copy_from_slice(&(TABLE as u64).to_le_bytes());
        bytes[54..56].copy_from_slice(&(HEADER as u16).to_le_bytes());
        bytes[56..58].copy_from_slice(&3u16.to_le_bytes());
        let headers = [
            (PT_INTERP, [0x300, 0x300, 0x300, 8, 8, 1]),
            (PT_LOAD, [0x310, 0x2_0310, 0x2_0310, 4, 0x100, ALIGN]),
            (PT_NOTE, [0x320, 0x320, 0x320, 4, 4, 4]),
        ];
        for (number, (kind, words)) in headers.into_iter().enumerate() {
            let at = TABLE + number * HEADER;
            bytes[at..at + 4].copy_from_slice(&kind.to_le_bytes());
            for (place, word) in words.into_iter().enumerate() {
                bytes[at + 8 + 8 * place..at + 16 + 8 * place].copy_from_slice(&u64::to_le_bytes(word));
            }
        }
        bytes[0x300..0x308].copy_from_slice(b"/lib/ld\0");
        bytes[0x310..0x314].copy_from_slice(b"data");
        bytes
    }

    #[test]
    fn another_dynamic_linker() {
        let mut bytes = file();
        assert!(set_interpreter(&mut bytes, "/proc/1/fd/3"));
        let elf = Elf { bytes };
        let [offset, memory, len] = [8, 16, 32].map(|at| elf.u64_at(64 + at) as usize);
        assert_eq!(&elf.bytes[offset..offset + len], b"/proc/1/fd/3\0");
        assert_eq!((memory, &elf.bytes[0x300..0x307]), (0x300, &b"/lib/ld"[..]), "its own view");
        let mut none = file();
        none[64] = PT_NOTE as u8;
        assert!(!set_interpreter(&mut none, "/"));
    }

    #[test]
    fn zeroes_in_the_file() {
        let mut bytes = file();
        assert!(unfold(&mut bytes));
        let elf = Elf { bytes };
        let segment = elf.loads().next().unwrap();
        assert_eq!((segment.file, segment.memory, segment.addr), (0x100, 0x100, 0x2_0310));
        assert_eq!(segment.offset % ALIGN, segment.addr % ALIGN);
        let content = &elf.bytes[segment.offset as usize..][..0x100];
        assert_eq!((&content[..4], &content[4..]), (&b"data"[..], &[0; 0xfc][..]));
        // Too much of it; and a segment that is not there.
        let header = 64 + HEADER;
        for (at, value) in [(40, u64::MAX), (8, u64::MAX), (32, 1 << 40)] {
            let mut elf = Elf { bytes: file() };
            elf.set_u64(header + 40, 1 << 41);
            elf.set_u64(header + at, value);
            assert!(!unfold(&mut elf.bytes), "{at}: {value:#x}");
        }
    }

    #[test]
    fn a_segment_more() {
        let mut elf = Elf { bytes: file() };
        let spare = elf.spare().unwrap();
        assert_eq!(spare, 64 + 2 * HEADER, "the note");
        elf.append(spare, 0x10_0000, b"code");
        let segment = elf.loads().last().unwrap();
        assert_eq!((segment.addr, segment.file, segment.memory), (0x10_0000, ALIGN, ALIGN));
        assert_eq!(&elf.bytes[segment.offset as usize..][..4], b"code");
        elf.set_word(0x2_0310, 0x1234_5678).unwrap();
        assert_eq!(elf.bytes[0x310..0x314], [0x78, 0x56, 0x34, 0x12]);
        assert_eq!(elf.set_word(0x2_0314, 0), None, "only zeroes in memory");
    }

    #[test]
    fn what_can_be_spared() {
        let mut elf = Elf { bytes: file() };
        let header = 64 + 2 * HEADER;
        let stack = |flags: u64| u64::from(PT_GNU_STACK) | flags << 32;
        elf.set_u64(header, stack(6));
        assert_eq!(elf.spare(), None, "a size of stacks");
        elf.set_u64(header + 40, 0);
        assert_eq!(elf.spare(), Some(header));
        elf.set_u64(header, stack(7));
        assert_eq!(elf.spare(), None, "stacks that are code");
    }
}
