//! A patched copy of an ELF file: instructions that matter branch to stubs, and the stubs are a segment of their own
//! behind the others, in the place of a program header that nobody misses.
//!
//! A stub makes a block of registers on the stack (AArch64 has no red zone) and calls the common gate, which stores
//! the registers there and asks the supervisor, by a `write` to a descriptor that no process has. What the supervisor
//! finds, and may change, in the block is [`super::block`]'s. Where the thread goes on is in the block too: behind the
//! instruction (`skip`), through it (`exec`), through it to a second gate (`post`), or to the stub again (`retry`).
//!
//! While a word at the beginning of the segment is 0, gates of accesses and functions let threads pass without asking;
//! those of system calls never do.

use super::asm::{self, Va};
use super::block;
use super::elf::{ALIGN, Elf};
use super::exclusive::{Exit, Sequence};
use super::scan::{Found, Wanted};
use crate::engine::EngineError;
use crate::engine::calls::Kind as Function;
use crate::os::launch::GATES;
use std::rc::Rc;

/// A place where threads stop, and where they can go on. Addresses are the file's.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    /// The file, by its number.
    pub(super) file: usize,
    /// The instruction.
    pub(super) at: Va,
    pub(super) word: u32,
    pub(super) kind: Kind,
    /// Where the thread goes on if nothing is said: through the instruction.
    pub(super) exec: Va,
    pub(super) skip: Va,
    pub(super) post: Va,
    pub(super) retry: Va,
    /// Behind the instruction, in the program.
    pub(super) back: Va,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// The first instruction of a program or of the dynamic linker.
    Entry,
    /// An instruction that accesses memory, is a fence, or is of interest for another reason.
    Insn,
    /// A load-exclusive and all up to its store.
    Exclusive(Rc<Sequence>),
    /// A system call.
    Svc,
    /// Behind the instruction of another gate.
    Post,
    /// The entry of a function of the C runtime.
    Function(Function),
    /// A jump to a function of another module, of this name.
    Import(Rc<str>),
    /// A call through a register.
    Indirect,
    /// Where functions return to whose end matters.
    Return,
    /// In the place of every handler of a signal.
    Handler,
}

impl Kind {
    /// Whether threads stop there even while nothing else matters.
    fn always(&self) -> bool {
        matches!(self, Kind::Entry | Kind::Svc | Kind::Post | Kind::Return | Kind::Handler)
    }
}

/// A file that has been patched.
pub(super) struct Patched {
    pub(super) bytes: Vec<u8>,
    /// The word that says whether gates are shut.
    pub(super) flag: Va,
    pub(super) own: Own,
}

/// Code of ours, beside the stubs.
#[derive(Clone, Debug)]
pub(super) struct Own {
    /// Where functions return to whose end matters.
    pub(super) returns: Va,
    /// What signals are handled by, first.
    pub(super) handler: Va,
    pub(super) common: Common,
    /// Where all of it ends, stubs included.
    pub(super) end: Va,
}

/// The code that all stubs share.
#[derive(Clone, Debug, Default)]
pub(super) struct Common {
    /// The entries of gates that always stop, and of others.
    pub(super) always: Va,
    pub(super) gate: Va,
    /// From here on all registers are in the block.
    pub(super) saved: Va,
    /// Where the supervisor is asked.
    pub(super) svc: Va,
    /// Where gates let pass.
    pub(super) pass: Va,
    pub(super) end: Va,
}

/// The register that a handler's address is in: one that calls may change.
pub(super) const HANDLER: u32 = 16;

/// The most gates of all files together.
pub(super) const MOST: usize = 1 << 24;

struct Writer {
    base: Va,
    words: Vec<u32>,
    common: Common,
}

/// A branch of ours that does not reach: the file's code is too large.
struct TooFar;

impl Writer {
    fn here(&self) -> Va {
        self.base + 4 * self.words.len() as u64
    }

    fn push(&mut self, word: u32) {
        self.words.push(word);
    }

    fn branch(&mut self, to: Va) -> Result<(), TooFar> {
        self.push(asm::branch(self.here(), to).ok_or(TooFar)?);
        Ok(())
    }

    /// The flag, and the code that all stubs share.
    fn common(&mut self) -> Result<Va, TooFar> {
        let flag = self.here();
        // Shut, and 16 bytes for the word's cache line to be aligned.
        self.words.extend([1, 0, 0, 0]);
        self.common.always = self.here();
        self.push(asm::store_pair(0, 1, 0));
        let to_save = self.words.len();
        self.push(0);
        self.common.gate = self.here();
        self.push(asm::store_pair(0, 1, 0));
        self.push(asm::load_literal_w0(self.here(), flag).ok_or(TooFar)?);
        let to_pass = self.words.len();
        self.push(0);
        let save = self.here();
        self.words[to_save] = asm::branch(self.base + 4 * to_save as u64, save).ok_or(TooFar)?;
        for reg in (2..30).step_by(2) {
            self.push(asm::store_pair(reg, reg + 1, reg * 8));
        }
        self.common.saved = self.here();
        self.push(asm::store(asm::LR, block::NEXT as u32 * 8));
        self.push(asm::FLAGS_TO_X0);
        self.push(asm::store(0, block::FLAGS as u32 * 8));
        self.push(asm::SP_TO_X1);
        self.push(asm::store(1, block::SP as u32 * 8));
        self.push(asm::LOAD_NUMBER);
        self.push(asm::constant(2, block::SIZE as u32));
        self.push(asm::constant(8, 64));
        self.common.svc = self.here();
        self.push(asm::SVC);
        self.push(asm::load(0, block::FLAGS as u32 * 8));
        self.push(asm::X0_TO_FLAGS);
        for reg in (2..30).step_by(2) {
            self.push(asm::load_pair(reg, reg + 1, reg * 8));
        }
        self.push(asm::load(asm::LR, block::NEXT as u32 * 8));
        self.push(asm::load_pair(0, 1, 0));
        self.push(asm::RET);
        let pass = self.here();
        self.common.pass = pass;
        self.words[to_pass] = asm::if_zero_w0(self.base + 4 * to_pass as u64, pass).ok_or(TooFar)?;
        self.push(asm::load_pair(0, 1, 0));
        self.push(asm::RET);
        self.common.end = self.here();
        Ok(flag)
    }

    /// The call of the common gate: its address, and where it returns to.
    fn stop(&mut self, number: usize, always: bool) -> Result<(Va, Va), TooFar> {
        self.push(GATES | number as u32);
        let entry = self.here();
        self.push(asm::push(block::SIZE as u32));
        self.push(asm::store(asm::LR, block::LR as u32 * 8));
        let to = if always { self.common.always } else { self.common.gate };
        self.push(asm::call(self.here(), to).ok_or(TooFar)?);
        Ok((entry, self.here()))
    }

    /// Takes the block away again.
    fn leave(&mut self) {
        self.push(asm::load(asm::LR, block::LR as u32 * 8));
        self.push(asm::pop(block::SIZE as u32));
    }

    /// The instructions of a gate, here. What they do not fall through to: which of all words branches where.
    fn body(&mut self, found: &Found) -> Result<Vec<Exit>, TooFar> {
        let here = self.here();
        let moved = match &found.wanted {
            Wanted::Exclusive(sequence) => {
                let start = self.words.len();
                self.words.extend(&sequence.words);
                let exits = sequence.exits.iter();
                return Ok(exits.map(|exit| Exit { branch: start + exit.branch, ..*exit }).collect());
            }
            Wanted::Indirect => asm::called(found.word, found.at, here, &mut self.words),
            _ => asm::moved(found.word, found.at, here, &mut self.words),
        };
        if moved { Ok(Vec::new()) } else { Err(TooFar) }
    }

    /// A way out of a sequence leads here. Its branches keep their distance in bits 5 to 23.
    fn lands(&mut self, exit: &Exit) {
        let distance = (self.words.len() - exit.branch) as u32;
        self.words[exit.branch] = self.words[exit.branch] & !(0x7_ffff << 5) | distance << 5;
        self.words.extend(exit.first);
    }

    /// A gate behind an instruction, from where it goes on to `to`.
    fn post(&mut self, found: &Found, file: usize, to: Va, list: &mut List<'_>) -> Result<(), TooFar> {
        // Over the gate's number.
        let over = self.here() + 8;
        self.branch(over)?;
        let (_, exec) = self.stop(list.number(), true)?;
        let Found { at, word, .. } = *found;
        list.gates.push(Gate {
            file,
            at,
            word,
            kind: Kind::Post,
            exec,
            skip: exec,
            post: exec,
            retry: exec,
            back: to,
        });
        self.leave();
        self.branch(to)
    }

    /// A gate that stands for no instruction, and what threads do behind it; its entry.
    fn alone(&mut self, kind: Kind, next: u32, file: usize, list: &mut List<'_>) -> Result<Va, TooFar> {
        let (entry, exec) = self.stop(list.number(), true)?;
        let [skip, post, retry, back] = [exec; 4];
        list.gates.push(Gate { file, at: entry, word: 0, kind, exec, skip, post, retry, back });
        self.leave();
        self.push(next);
        Ok(entry)
    }

    /// The stub of a gate; its entry.
    fn stub(&mut self, found: &Found, file: usize, list: &mut List<'_>) -> Result<Va, TooFar> {
        let kind = found.kind();
        let (entry, exec) = self.stop(list.number(), kind.always())?;
        let back = match &found.wanted {
            Wanted::Exclusive(sequence) => sequence.next,
            _ => found.at + 4,
        };
        let slot = list.gates.len();
        let is_call = matches!(kind, Kind::Svc);
        let at = found.at;
        let word = if let Wanted::Outline(word) = found.wanted { word } else { found.word };
        list.gates.push(Gate { file, at, word, kind, exec, skip: 0, post: 0, retry: 0, back });
        // A system call always stops behind, too.
        if !is_call {
            self.leave();
            let exits = self.body(found)?;
            self.branch(back)?;
            for exit in exits {
                self.lands(&exit);
                self.branch(exit.to)?;
            }
        }
        if found.has_post() {
            list.gates[slot].post = self.here();
            self.leave();
            let exits = self.body(found)?;
            self.post(found, file, back, list)?;
            for exit in exits {
                self.lands(&exit);
                self.post(found, file, exit.to, list)?;
            }
        }
        list.gates[slot].skip = self.here();
        self.leave();
        self.branch(back)?;
        list.gates[slot].retry = self.here();
        self.leave();
        self.branch(entry)?;
        Ok(entry)
    }

    /// Everything: the flag's address, our own code's, and the entries of the stubs.
    fn all(
        &mut self,
        found: &[Found],
        file: usize,
        list: &mut List<'_>,
    ) -> Result<(Va, Own, Vec<Va>), TooFar> {
        let flag = self.common()?;
        let returns = self.alone(Kind::Return, asm::RET, file, list)?;
        let handler = self.alone(Kind::Handler, asm::jump(HANDLER), file, list)?;
        let entries = found.iter().map(|found| self.stub(found, file, list)).collect::<Result<_, _>>()?;
        Ok((flag, Own { returns, handler, end: self.here(), common: self.common.clone() }, entries))
    }
}

/// The gates of all files: those of this one are added.
pub(super) struct List<'a> {
    pub(super) gates: &'a mut Vec<Gate>,
}

impl List<'_> {
    fn number(&self) -> usize {
        self.gates.len()
    }
}

/// Patches a file. `found` are the instructions, by address.
pub(super) fn patch(
    path: &str,
    bytes: &[u8],
    found: &[Found],
    file: usize,
    list: &mut List<'_>,
) -> Result<Patched, EngineError> {
    let unsupported = |what: &str| EngineError::Unsupported(format!("{path}: {what}"));
    let mut elf = Elf { bytes: bytes.to_vec() };
    let spare = elf.spare().ok_or_else(|| unsupported("no program header that could be spared"))?;
    let end = elf.loads().map(|header| header.addr.saturating_add(header.memory)).max();
    let base = end.and_then(|end| end.checked_next_multiple_of(ALIGN));
    let base = base.ok_or_else(|| unsupported("it has no segments"))?;
    if list.gates.len() + 4 * found.len() >= MOST {
        return Err(unsupported("too much code"));
    }
    let mut writer = Writer { base, words: Vec::new(), common: Common::default() };
    let too_far = |_| unsupported("code and data of more than 128 MiB, or a branch that cannot be moved");
    let (flag, own, entries) = writer.all(found, file, list).map_err(too_far)?;
    for (found, entry) in found.iter().zip(entries) {
        let branch = asm::branch(found.at, entry).ok_or_else(|| too_far(TooFar))?;
        elf.set_word(found.at, branch).ok_or_else(|| unsupported("code that is not in the file"))?;
    }
    let stubs: Vec<u8> = writer.words.iter().flat_map(|word| word.to_le_bytes()).collect();
    elf.append(spare, base, &stubs);
    Ok(Patched { bytes: elf.bytes, flag, own })
}

/// Gates of these instructions, and all code of ours, which begins at this address.
#[cfg(test)]
pub(super) fn stubs(found: &[Found], base: Va) -> (Vec<Gate>, Own, Vec<u32>) {
    let mut gates = Vec::new();
    let mut writer = Writer { base, words: Vec::new(), common: Common::default() };
    let written = writer.all(found, 0, &mut List { gates: &mut gates });
    let (_, own, _) = written.unwrap_or_else(|TooFar| panic!("too far"));
    (gates, own, writer.words)
}
