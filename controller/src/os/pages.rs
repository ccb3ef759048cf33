//! Pages of a stopped process, as they were when they were last looked at.
//!
//! A look through the kernel costs a microsecond, and most looks are at the same few pages. Copies are good as long as
//! nobody but us writes: until the process runs again. Somebody else may share its memory, so they do not live for
//! ever even if it does not run.

/// The size of a page.
const SIZE: u64 = 4096;

/// How many pages are kept. Which one a page replaces depends on its address alone.
const KEPT: usize = 64;

/// Looks after which everything is read again.
const LOOKS: u32 = 1000;

/// No page's number.
const NOBODY: u64 = u64::MAX;

#[derive(Debug)]
struct Page {
    /// Its address, divided by its size.
    number: u64,
    bytes: Box<[u8; SIZE as usize]>,
    /// It has been written as the program itself could.
    writable: bool,
}

/// The pages.
#[derive(Debug)]
pub(super) struct Pages {
    kept: [Option<Page>; KEPT],
    /// Whether there are any.
    any: bool,
    looks: u32,
}

impl Default for Pages {
    fn default() -> Pages {
        Pages { kept: [const { None }; KEPT], any: false, looks: 0 }
    }
}

/// The number of the page that holds all these bytes, and where they begin in it.
fn place(addr: u64, len: usize) -> Option<(u64, usize)> {
    let at = addr % SIZE;
    (len as u64 <= SIZE - at).then_some((addr / SIZE, at as usize))
}

impl Pages {
    /// Fills the buffer. A page that is not there is asked for; false if it cannot be had, or the bytes are on two.
    pub(super) fn read(
        &mut self,
        addr: u64,
        buffer: &mut [u8],
        ask: impl FnOnce(u64, &mut [u8]) -> bool,
    ) -> bool {
        let Some((number, at)) = place(addr, buffer.len()) else { return false };
        self.looks += 1;
        if self.looks > LOOKS {
            self.forget();
        }
        let slot = &mut self.kept[number as usize % KEPT];
        if slot.as_ref().is_none_or(|page| page.number != number) {
            let mut bytes = slot.take().map_or_else(|| Box::new([0; SIZE as usize]), |page| page.bytes);
            if !ask(number * SIZE, &mut bytes[..]) {
                return false;
            }
            *slot = Some(Page { number, bytes, writable: false });
            self.any = true;
        }
        let Some(page) = slot else { return false };
        buffer.copy_from_slice(&page.bytes[at..at + buffer.len()]);
        true
    }

    fn page(&mut self, number: u64) -> Option<&mut Page> {
        self.kept[number as usize % KEPT].as_mut().filter(|page| page.number == number)
    }

    /// Bytes have been written. Whether the program itself could have, if that is known.
    pub(super) fn written(&mut self, addr: u64, bytes: &[u8], as_program: bool) {
        if !self.any {
            return;
        }
        match place(addr, bytes.len()) {
            Some((number, at)) => {
                if let Some(page) = self.page(number) {
                    page.bytes[at..at + bytes.len()].copy_from_slice(bytes);
                    page.writable |= as_program;
                }
            }
            None => self.forget(),
        }
    }

    /// Whether it is known that the program may write these bytes.
    pub(super) fn is_writable(&mut self, addr: u64, len: usize) -> bool {
        place(addr, len).and_then(|(number, _)| self.page(number)).is_some_and(|page| page.writable)
    }

    /// The process has run, or may have: nothing is known.
    pub(super) fn forget(&mut self) {
        self.looks = 0;
        if std::mem::take(&mut self.any) {
            self.kept.iter_mut().flatten().for_each(|page| page.number = NOBODY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_asked_for_once() {
        let mut pages = Pages::default();
        let mut asked = 0;
        let mut byte = [0];
        for at in [0x1000, 0x1fff] {
            assert!(pages.read(at, &mut byte, |start, bytes| {
                asked += 1;
                assert_eq!(start, 0x1000);
                bytes.fill(7);
                true
            }));
            assert_eq!(byte, [7]);
        }
        assert_eq!(asked, 1);
        // Two pages at once are not kept.
        assert!(!pages.read(0x1fff, &mut [0; 2], |_, _| true));
    }

    #[test]
    fn what_is_written_is_seen() {
        let mut pages = Pages::default();
        let mut byte = [0];
        assert!(pages.read(0x1000, &mut byte, |_, _| true));
        assert!(!pages.is_writable(0x1000, 1));
        pages.written(0x1008, &[3], true);
        assert!(pages.read(0x1008, &mut byte, |_, _| false));
        assert_eq!(byte, [3]);
        assert!(pages.is_writable(0x1000, 1));
        pages.forget();
        assert!(!pages.is_writable(0x1000, 1));
        assert!(!pages.read(0x1008, &mut byte, |_, _| false), "forgotten");
    }

    #[test]
    fn copies_do_not_live_for_ever() {
        let mut pages = Pages::default();
        let mut asked = 0;
        for _ in 0..=LOOKS {
            pages.read(0x1000, &mut [0], |_, _| {
                asked += 1;
                true
            });
        }
        assert_eq!(asked, 2);
    }
}
