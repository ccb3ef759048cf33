//! Everything that has a name: for questions about names that may not be there.
//!
//! Every unit is read for that, a few at a time. This is for a user's mistakes, and for one question at the beginning.

use super::Debug;
use super::names::demangle;

/// Bytes of units that are kept in memory, which takes several times as much.
const MAX_WEIGHT: usize = 16 << 20;

impl Debug {
    /// Tells of every function that has code, whether debug information or only a symbol has its name: where it begins, or
    /// nothing if it is inlined there. A name may come several times.
    pub fn each_function(&mut self, tell: &mut dyn FnMut(&str, Option<u64>)) {
        for (start, _, name) in &self.symbols {
            tell(&demangle(name), Some(*start));
        }
        self.each_unit(|debug, unit| {
            for node in &unit.nodes {
                let Some(name) = debug.name(unit, node) else { continue };
                tell(&name, node.entry_pc.filter(|_| !node.inlined()));
            }
        });
    }

    /// Tells of every line that has an instruction, or into which a function is inlined: its file, and its number. A line may
    /// come several times.
    pub fn each_line(&mut self, tell: &mut dyn FnMut(&str, u32)) {
        self.each_unit(|debug, unit| {
            let mut last = (None, None);
            for row in unit.lines().rows() {
                if last.0 != row.file {
                    last = (row.file, row.file.and_then(|file| unit.line_file(file)));
                }
                if let Some(file) = &last.1 {
                    tell(file, row.line);
                }
            }
            for node in unit.nodes.iter().filter(|node| node.inlined()) {
                if let Some(at) = debug.call_line(unit, node.call) {
                    tell(&at.file, at.line);
                }
            }
        });
    }

    /// Looks at one unit with code after the other, and keeps few in memory.
    fn each_unit(&mut self, mut look: impl FnMut(&Debug, &super::Unit)) {
        for number in self.code_units() {
            if let Some(unit) = self.load(number as usize) {
                look(self, unit);
            }
            // Units may refer to each other: they are read once, as long as they take little memory.
            if self.weight() > MAX_WEIGHT {
                self.forget();
            }
        }
    }
}
