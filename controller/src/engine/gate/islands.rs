//! Data among the code, which must stay as it is: what mapping symbols say is data ("ELF for the Arm 64-bit
//! Architecture", `$d`), and, in a file without them, what instructions load as data.
//!
//! Such a file does not say where its data ends. What an address is computed for (ADR, or ADRP and ADD) and what is then
//! loaded from is data up to the next place where a function begins or that a branch leads to. (A word of data that looks
//! like a branch may lead there too, and end it early: then who reads the rest under the model is told so, and refused.)

use super::asm::{self, Va};
use std::collections::{BTreeMap, BTreeSet};
use wmtrace_decoder::aarch64::Decoder;
use wmtrace_decoder::effect::{AccessKind, Flow, Reg};
use wmtrace_decoder::image::Image;

/// How many instructions after an address was computed it is looked for a load from there.
const NEAR: usize = 24;

/// Where data is: start and end.
pub(super) fn islands(image: &Image, decoder: &Decoder) -> BTreeMap<Va, Va> {
    let marks = image.marks();
    let starts: BTreeSet<Va> = image.functions().iter().map(|function| function.start).collect();
    let mut data = BTreeMap::new();
    for code in image.code() {
        let mut begun = None;
        let mut marked = false;
        for (&at, &is_data) in marks.range(code.addr..code.end()) {
            marked = true;
            match (begun, is_data) {
                (None, true) => begun = Some(at),
                (Some(start), false) => {
                    data.insert(start, at);
                    begun = None;
                }
                _ => {}
            }
        }
        if let Some(start) = begun {
            data.insert(start, code.end());
        }
        let words: Vec<u32> = code.bytes.bytes().chunks_exact(4).map(word).collect();
        let code = Code { decoder, start: code.addr, words: &words };
        let mut add = |(at, end): (Va, Va)| {
            let known = data.entry(at).or_insert(end);
            *known = (*known).max(end);
        };
        code.literals().for_each(&mut add);
        if !marked {
            code.pointed_at(&starts).into_iter().for_each(&mut add);
        }
    }
    data
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().expect("four bytes"))
}

struct Code<'a> {
    decoder: &'a Decoder,
    start: Va,
    words: &'a [u32],
}

impl Code<'_> {
    fn address(&self, index: usize) -> Va {
        self.start + 4 * index as u64
    }

    fn end(&self) -> Va {
        self.address(self.words.len())
    }

    /// What LDR (literal) loads.
    fn literals(&self) -> impl Iterator<Item = (Va, Va)> {
        let at = |(index, &word): (usize, &u32)| asm::literal(word, self.address(index));
        self.words.iter().enumerate().filter_map(at).map(|(at, len)| (at, at.saturating_add(len)))
    }

    /// What is loaded from addresses that were computed just before.
    fn pointed_at(&self, functions: &BTreeSet<Va>) -> Vec<(Va, Va)> {
        let begins: BTreeSet<Va> = (0..self.words.len()).filter_map(|index| self.loads_from(index)).collect();
        let branches = self.words.iter().enumerate();
        let mut places: BTreeSet<Va> =
            branches.filter_map(|(index, &word)| asm::target(word, self.address(index))).collect();
        places.extend(functions);
        let end = |at: Va| places.range(at..).next().map_or(self.end(), |&end| end.min(self.end()));
        begins.into_iter().filter(|at| !places.contains(at)).map(|at| (at, end(at))).collect()
    }

    /// The address in this code that the instruction computes, if something is loaded from there soon.
    fn loads_from(&self, index: usize) -> Option<Va> {
        let (mut register, address, mut next) = self.computes(index)?;
        if !(self.start..self.end()).contains(&address) {
            return None;
        }
        for _ in 0..NEAR {
            let word = *self.words.get(next)?;
            let effect = self.decoder.decode(self.address(next), &word.to_le_bytes()).ok()?;
            let loads = effect.accesses.iter().any(|access| {
                access.kind != AccessKind::Store && access.address.base == Some(Reg(register as u8))
            });
            if loads {
                return Some(address);
            }
            if let Some(moved) = moves(word, register) {
                register = moved;
            } else if effect.writes.contains(Reg(register as u8)) {
                return None;
            }
            next = match effect.flow {
                Flow::Next | Flow::Jump { conditional: true, .. } => next + 1,
                Flow::Jump { target, conditional: false } => {
                    (target.checked_sub(self.start)? / 4).try_into().ok()?
                }
                _ => return None,
            };
        }
        None
    }

    /// The address that ADR, or ADRP and ADD, put into a register, and where the program goes on.
    fn computes(&self, index: usize) -> Option<(u32, Va, usize)> {
        let (word, at) = (self.words[index], self.address(index));
        if let Some((register, address)) = asm::near(word, at) {
            return Some((register, address, index + 1));
        }
        let (page_register, page) = asm::page(word, at)?;
        let add = *self.words.get(index + 1)?;
        // ADD (immediate), 64 bits, not shifted.
        let adds = add & 0xffc0_0000 == 0x9100_0000 && add >> 5 & 31 == page_register;
        adds.then(|| (add & 31, page.wrapping_add(u64::from(add >> 10 & 0xfff)), index + 2))
    }
}

/// The register that gets a pointer, moved by a constant or not, from another one (ADD and SUB (immediate), MOV).
fn moves(word: u32, from: u32) -> Option<u32> {
    let by_constant = word & 0xbf80_0000 == 0x9100_0000 && word >> 5 & 31 == from;
    let as_it_is = word & 0xffff_ffe0 == 0xaa00_03e0 | from << 16;
    (by_constant || as_it_is).then_some(word & 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(words: &[u32], functions: &[Va]) -> Vec<(Va, Va)> {
        let code = Code { decoder: &Decoder::new(), start: 0x1000, words };
        code.literals().chain(code.pointed_at(&functions.iter().copied().collect())).collect()
    }

    #[test]
    fn what_is_loaded_as_data() {
        // adr x9, 0x1008; b 0x1010; two words that look like `svc` and a load; ldr w0, [x9]; ret
        let island = [0x1000_0049, 0x1400_0003, 0xd400_0001, 0xf940_0000, 0xb940_0120, asm::RET];
        assert_eq!(found(&island, &[0x1000]), [(0x1008, 0x1010)]);
        // The same with sub x3, x9, #4; ldr w0, [x3, #4]
        let moved = [0x1000_0049, 0x1400_0002, 0xd400_0001, 0xd100_1123, 0xb940_0460, asm::RET];
        assert_eq!(found(&moved, &[0x1000]), [(0x1008, 0x100c)]);
        // ldr x0, 0x1008; ret; eight bytes
        assert_eq!(found(&[0x5800_0040, asm::RET, 0xf940_0000, 0], &[0x1000]), [(0x1008, 0x1010)]);
        // adr x9, 0x1008; ldr w0, [x9]; words up to the next function
        let table = [0x1000_0049, 0xb940_0120, 0xf940_0000, 0xf940_0000, asm::RET];
        assert_eq!(found(&table, &[0x1000, 0x1010]), [(0x1008, 0x1010)]);
    }

    #[test]
    fn what_is_code_all_the_same() {
        // adr x9, 0x100c; br x9; nop; ret: where a computed branch leads.
        assert_eq!(found(&[0x1000_0069, 0xd61f_0120, 0xd503_201f, asm::RET], &[0x1000]), []);
        // adr x9, 0x1008; ldr w0, [x9]; and a function begins there.
        assert_eq!(found(&[0x1000_0049, 0xb940_0120, asm::RET], &[0x1000, 0x1008]), []);
    }
}
