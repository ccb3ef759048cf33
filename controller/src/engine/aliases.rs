//! Memory that is mapped at two addresses (rings whose two copies lie in a row). The model would take the
//! two for different memory, and accuse a correct program. So an access by the second address is refused.

use super::execution::Execution;
use super::thread::Syscall;
use crate::os::proc::Mapping;
use std::ops::Range;

/// What is refused, in words.
pub(super) const ALIAS: &str = "an access to memory that is mapped at two addresses, by the second one: wmtrace takes them for different memory";

/// The addresses that are not the first of their memory.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Aliases(Vec<Range<u64>>);

impl Aliases {
    fn of(mappings: &[Mapping]) -> Aliases {
        let shared: Vec<&Mapping> = mappings.iter().filter(|it| it.shared).collect();
        let mut found = Vec::new();
        for (number, second) in shared.iter().enumerate() {
            let same = |first: &&&Mapping| first.file == second.file && (first.writable || second.writable);
            for first in shared[..number].iter().filter(same) {
                let end = |it: &Mapping| it.offset.saturating_add(it.end - it.start);
                let (from, to) = (first.offset.max(second.offset), end(first).min(end(second)));
                if from < to {
                    found.push(second.start + (from - second.offset)..second.start + (to - second.offset));
                }
            }
        }
        Aliases(found)
    }

    /// Whether an access is by an address that is not the first of its memory.
    pub(super) fn contain(&self, addr: u64, len: u64) -> bool {
        self.0.iter().any(|range| addr < range.end && range.start < addr.saturating_add(len))
    }
}

/// Whether the call may have mapped memory that is mapped already.
fn may_alias(call: &Syscall) -> bool {
    match call.number as i64 {
        libc::SYS_mmap => call.args[3] & libc::MAP_SHARED as u64 != 0,
        // It maps the same once more if it is told that there is nothing to move.
        libc::SYS_mremap => call.args[1] == 0,
        libc::SYS_shmat => true,
        _ => false,
    }
}

pub(super) trait Aliasing: Execution {
    /// The kernel has done a system call.
    fn may_have_aliased(&mut self, call: &Syscall) {
        if may_alias(call) {
            let aliases = Aliases::of(&self.mappings());
            self.parts().course.aliases = aliases;
        }
    }
}

impl<E: Execution> Aliasing for E {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_that_is_mapped_twice() {
        let mapping = |start, offset, file| Mapping {
            start,
            end: start + 0x2000,
            offset,
            writable: true,
            executable: false,
            shared: true,
            file,
            name: "/memfd:ring (deleted)".to_owned(),
        };
        let (first, other) = ((1, 7), (1, 8));
        let ring = [mapping(0x10000, 0, first), mapping(0x12000, 0, first), mapping(0x14000, 0, other)];
        let aliases = Aliases::of(&ring);
        let only = |range| Aliases(std::iter::once(range).collect());
        assert_eq!(aliases, only(0x12000..0x14000));
        assert!(aliases.contain(0x11ffc, 8) && !aliases.contain(0x11ff8, 8) && !aliases.contain(0x14000, 8));
        let parts = [mapping(0x10000, 0, first), mapping(0x20000, 0x1000, first)];
        assert_eq!(Aliases::of(&parts), only(0x20000..0x21000), "where the two overlap");
        let private = Mapping { shared: false, ..mapping(0x12000, 0, first) };
        assert_eq!(Aliases::of(&[ring[0].clone(), private]), Aliases::default());
    }
}
