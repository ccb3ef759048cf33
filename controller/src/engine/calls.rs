//! Functions of the C runtime that the engine knows: those that synchronise, allocate, or touch ranges of memory.
//! They run natively; the model is told what they mean at their entry and at their return.

use wmtrace_model::op::{Site, ThreadId};

/// What a function means to the model. Objects are its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Acquires its first argument when it returns 0 (or that the owner died).
    Lock,
    /// The same of a readers-writer lock, for writing.
    WriteLock,
    /// The same for reading: readers do not wait for each other.
    ReadLock,
    /// Releases its first argument.
    Unlock,
    /// Releases and acquires a mutex (second argument), acquires a condition (first argument).
    CondWait,
    /// Releases its first argument, when it is entered.
    Signal,
    /// Releases its first argument when it is entered, acquires it when it returns.
    Barrier,
    /// Acquires its first argument; whoever runs the initialiser releases it.
    Once,
    /// Waits for the thread that its first argument names.
    Join,
    /// Like [`Kind::Lock`], but of another thing than a lock (for reports).
    SemWait,
    Malloc,
    Calloc,
    Realloc,
    Free,
    /// Memory of the size that is the second argument.
    Aligned,
    /// Memory of the size that is the third argument, returned through the first.
    PosixMemalign,
    /// Reads and writes ranges.
    Ranges,
}

/// Functions with a breakpoint at their entry.
pub(super) const WATCHED: [(&str, Kind); 61] = [
    ("pthread_mutex_lock", Kind::Lock),
    ("pthread_mutex_trylock", Kind::Lock),
    ("pthread_mutex_timedlock", Kind::Lock),
    ("pthread_mutex_clocklock", Kind::Lock),
    ("pthread_mutex_unlock", Kind::Unlock),
    ("pthread_rwlock_rdlock", Kind::ReadLock),
    ("pthread_rwlock_wrlock", Kind::WriteLock),
    ("pthread_rwlock_tryrdlock", Kind::ReadLock),
    ("pthread_rwlock_trywrlock", Kind::WriteLock),
    ("pthread_rwlock_timedrdlock", Kind::ReadLock),
    ("pthread_rwlock_timedwrlock", Kind::WriteLock),
    ("pthread_rwlock_clockrdlock", Kind::ReadLock),
    ("pthread_rwlock_clockwrlock", Kind::WriteLock),
    ("pthread_rwlock_unlock", Kind::Unlock),
    ("pthread_cond_wait", Kind::CondWait),
    ("pthread_cond_timedwait", Kind::CondWait),
    ("pthread_cond_clockwait", Kind::CondWait),
    ("pthread_cond_signal", Kind::Signal),
    ("pthread_cond_broadcast", Kind::Signal),
    ("pthread_barrier_wait", Kind::Barrier),
    ("pthread_once", Kind::Once),
    ("call_once", Kind::Once),
    ("pthread_join", Kind::Join),
    ("pthread_tryjoin_np", Kind::Join),
    ("pthread_timedjoin_np", Kind::Join),
    ("pthread_clockjoin_np", Kind::Join),
    ("thrd_join", Kind::Join),
    ("sem_wait", Kind::SemWait),
    ("sem_trywait", Kind::SemWait),
    ("sem_timedwait", Kind::SemWait),
    ("sem_clockwait", Kind::SemWait),
    ("sem_post", Kind::Signal),
    ("mtx_lock", Kind::Lock),
    ("mtx_trylock", Kind::Lock),
    ("mtx_timedlock", Kind::Lock),
    ("mtx_unlock", Kind::Unlock),
    ("cnd_wait", Kind::CondWait),
    ("cnd_timedwait", Kind::CondWait),
    ("cnd_signal", Kind::Signal),
    ("cnd_broadcast", Kind::Signal),
    ("malloc", Kind::Malloc),
    ("calloc", Kind::Calloc),
    ("realloc", Kind::Realloc),
    ("free", Kind::Free),
    ("aligned_alloc", Kind::Aligned),
    ("memalign", Kind::Aligned),
    ("valloc", Kind::Malloc),
    ("posix_memalign", Kind::PosixMemalign),
    // Not functions of C, but of the same kind in other C libraries.
    ("__pthread_mutex_lock", Kind::Lock),
    ("__pthread_mutex_unlock", Kind::Unlock),
    ("__pthread_mutex_trylock", Kind::Lock),
    ("__pthread_rwlock_rdlock", Kind::ReadLock),
    ("__pthread_rwlock_wrlock", Kind::WriteLock),
    ("__pthread_rwlock_unlock", Kind::Unlock),
    ("__pthread_once", Kind::Once),
    ("__libc_malloc", Kind::Malloc),
    ("__libc_calloc", Kind::Calloc),
    ("__libc_realloc", Kind::Realloc),
    ("__libc_free", Kind::Free),
    ("__libc_memalign", Kind::Aligned),
    ("cfree", Kind::Free),
];

/// Functions of the C runtime that are run under the model: they wait without the kernel's help, or are a part of
/// what compilers generate for C++'s local statics.
pub(super) const STEPPED: [&str; 8] = [
    "pthread_spin_init",
    "pthread_spin_lock",
    "pthread_spin_trylock",
    "pthread_spin_unlock",
    "__cxa_guard_acquire",
    "__cxa_guard_release",
    "__cxa_guard_abort",
    "pthread_spin_destroy",
];

/// The part of the compiler's runtime that finds the table of a function for an exception: in a static program it is among
/// the program's own code, and sorts all tables when the first exception is thrown. It runs natively there, as the
/// library does in others. Only functions near the first one: any program may have one that is called like the rest.
pub(super) const FINDS_TABLES: [&str; 19] = [
    "_Unwind_Find_FDE",
    "add_fdes",
    "base_from_object",
    "binary_search_mixed_encoding_fdes",
    "binary_search_single_encoding_fdes",
    "binary_search_unencoded_fdes",
    "classify_object_over_fdes",
    "fde_mixed_encoding_compare",
    "fde_single_encoding_compare",
    "fde_unencoded_compare",
    "frame_downheap",
    "frame_heapsort",
    "init_object",
    "get_cie_encoding",
    "linear_search_fdes",
    "read_encoded_value_with_base",
    "release_registered_frames",
    "search_object",
    "size_of_encoded_value",
];

impl Kind {
    /// Whether it is a scheduling point.
    pub(super) fn synchronises(self) -> bool {
        !self.allocates() && self != Kind::Ranges
    }

    pub(super) fn allocates(self) -> bool {
        use Kind::{Aligned, Calloc, Free, Malloc, PosixMemalign, Realloc};
        matches!(self, Malloc | Calloc | Realloc | Free | Aligned | PosixMemalign)
    }

    /// What reports call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Lock | Kind::WriteLock | Kind::ReadLock => "lock",
            Kind::Unlock => "unlock",
            Kind::CondWait => "wait",
            Kind::Signal => "signal",
            Kind::Barrier => "barrier",
            Kind::Once => "once",
            Kind::Join => "join",
            Kind::SemWait => "sem_wait",
            Kind::Malloc | Kind::Calloc | Kind::Aligned | Kind::PosixMemalign => "malloc",
            Kind::Realloc => "realloc",
            Kind::Free => "free",
            Kind::Ranges => "copy",
        }
    }
}

/// A range that an instruction or a function touches without a choice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// The instruction.
    pub(super) pc: u64,
    pub(super) site: Site,
    pub(super) addr: u64,
    pub(super) len: u64,
    pub(super) store: bool,
    /// On the thread's own stack, where nobody else has been.
    pub(super) private: bool,
}

/// A function under way.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) kind: Kind,
    pub(super) args: [u64; 3],
    /// Where it returns to.
    pub(super) ret: u64,
    /// The stack pointer at its entry.
    pub(super) sp: u64,
    /// There is a breakpoint in native code where it returns to.
    pub(super) watched: bool,
    /// The thread that a join waits for.
    pub(super) child: Option<ThreadId>,
    /// Told when it returns.
    pub(super) told: Vec<Told>,
    /// Called from the program, or from the part of the runtime that is `operator new`.
    pub(super) direct: bool,
}

/// The ranges that a function of `<string.h>` touches: (address, length, whether it writes). `string` tells the
/// length of a string, without its end.
pub(super) fn ranges(
    name: &str,
    args: [u64; 3],
    string: &dyn Fn(u64, u64) -> u64,
) -> Option<Vec<(u64, u64, bool)>> {
    let [a, b, n] = args;
    let name = name.strip_prefix("__").and_then(|name| name.strip_suffix("_chk")).unwrap_or(name);
    const ANY: u64 = u64::MAX;
    let ranges = match name {
        "memcpy" | "memmove" | "mempcpy" => vec![(b, n, false), (a, n, true)],
        "memset" | "explicit_bzero" => vec![(a, if name == "memset" { n } else { b }, true)],
        "bzero" => vec![(a, b, true)],
        // It may stop earlier: what it surely reads is the first byte.
        "memcmp" | "bcmp" => vec![(a, n.min(1), false), (b, n.min(1), false)],
        "memchr" | "memrchr" => vec![(a, n.min(1), false)],
        "strlen" => vec![(a, string(a, ANY) + 1, false)],
        "strnlen" => vec![(a, string(a, b), false)],
        "strcpy" | "stpcpy" => {
            let len = string(b, ANY) + 1;
            vec![(b, len, false), (a, len, true)]
        }
        "strncpy" | "stpncpy" => vec![(b, string(b, n), false), (a, n, true)],
        "strcat" => {
            let len = string(b, ANY) + 1;
            vec![(b, len, false), (a.wrapping_add(string(a, ANY)), len, true)]
        }
        "strcmp" | "strcasecmp" | "strcoll" => vec![(a, 1, false), (b, 1, false)],
        "strncmp" | "strncasecmp" => vec![(a, n.min(1), false), (b, n.min(1), false)],
        "strchr" | "strrchr" | "strstr" => vec![(a, 1, false)],
        _ => return None,
    };
    Some(ranges.into_iter().filter(|&(_, len, _)| len > 0).collect())
}
