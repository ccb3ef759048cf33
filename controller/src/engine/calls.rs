//! Functions of the C runtime, and of allocators, that the engine knows: those that synchronise, allocate, or touch ranges
//! of memory. They run natively; the model is told what they mean at their entry and at their return.

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
    /// The same of a readers-writer lock.
    RwUnlock,
    /// Releases and acquires a mutex (second argument), acquires a condition (first argument).
    CondWait,
    /// Releases its first argument, when it is entered.
    Signal,
    /// The same of a semaphore.
    Post,
    /// Releases its first argument when it is entered, acquires it when it returns.
    Barrier,
    /// Acquires its first argument; whoever runs the initialiser releases it.
    Once,
    /// Waits for the thread that its first argument names.
    Join,
    /// The same, but not for ever: it may fail for other reasons than a join without an end.
    TryJoin,
    /// Nobody will wait for the thread that its first argument names.
    Detach,
    /// Makes a synchronisation object of its first argument.
    Init(Object),
    /// Its first argument is a synchronisation object no longer.
    Destroy(Object),
    /// Like [`Kind::Lock`], but of another thing than a lock (for reports).
    SemWait,
    /// Memory of the size that is the first argument.
    Malloc,
    /// The same, with flags in the second argument (jemalloc's `mallocx`).
    Mallocx,
    /// Like [`Kind::Malloc`], and written with zeroes.
    Zalloc,
    /// As many things as the first argument says, of the second argument's size, written with zeroes.
    Calloc,
    /// Memory of the size that is the second argument.
    Aligned,
    /// The same, written with zeroes.
    AlignedZalloc,
    /// Memory of the size that is the third argument, returned through the first.
    PosixMemalign,
    /// A block (first argument) gets another size, and perhaps another place.
    Realloc,
    /// The same with a number and a size.
    ReallocArray,
    /// A block gets another size where it is; the size that it has then is returned (jemalloc's `xallocx`).
    Resize,
    /// Returns how much of a block may be used: as much is the program's.
    Usable,
    Free,
    /// A function of an allocator that nobody knows: it may return memory that was freed.
    Unknown,
    /// Reads and writes ranges.
    Ranges,
}

/// Synchronisation objects of the C library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Object {
    Mutex,
    RwLock,
    Condition,
    Barrier,
    Semaphore,
}

/// Functions that synchronise, with a breakpoint at their entry. Those that allocate are found by [`allocation`].
const SYNCHRONISING: [(&str, Kind); 47] = [
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
    ("pthread_rwlock_unlock", Kind::RwUnlock),
    ("pthread_cond_wait", Kind::CondWait),
    ("pthread_cond_timedwait", Kind::CondWait),
    ("pthread_cond_clockwait", Kind::CondWait),
    ("pthread_cond_signal", Kind::Signal),
    ("pthread_cond_broadcast", Kind::Signal),
    ("pthread_barrier_wait", Kind::Barrier),
    ("pthread_once", Kind::Once),
    ("call_once", Kind::Once),
    ("pthread_join", Kind::Join),
    ("pthread_tryjoin_np", Kind::TryJoin),
    ("pthread_timedjoin_np", Kind::TryJoin),
    ("pthread_clockjoin_np", Kind::TryJoin),
    ("thrd_join", Kind::Join),
    ("sem_wait", Kind::SemWait),
    ("sem_trywait", Kind::SemWait),
    ("sem_timedwait", Kind::SemWait),
    ("sem_clockwait", Kind::SemWait),
    ("sem_post", Kind::Post),
    ("mtx_lock", Kind::Lock),
    ("mtx_trylock", Kind::Lock),
    ("mtx_timedlock", Kind::Lock),
    ("mtx_unlock", Kind::Unlock),
    ("cnd_wait", Kind::CondWait),
    ("cnd_timedwait", Kind::CondWait),
    ("cnd_signal", Kind::Signal),
    ("cnd_broadcast", Kind::Signal),
    // Not functions of C, but of the same kind in other C libraries.
    ("__pthread_mutex_lock", Kind::Lock),
    ("__pthread_mutex_unlock", Kind::Unlock),
    ("__pthread_mutex_trylock", Kind::Lock),
    ("__pthread_rwlock_rdlock", Kind::ReadLock),
    ("__pthread_rwlock_wrlock", Kind::WriteLock),
    ("__pthread_rwlock_unlock", Kind::RwUnlock),
    ("__pthread_once", Kind::Once),
];

/// Functions that begin and end the life of what synchronises, and that threads are not scheduled at.
const LIVES: [(&str, Kind); 16] = [
    ("pthread_detach", Kind::Detach),
    ("thrd_detach", Kind::Detach),
    ("pthread_mutex_init", Kind::Init(Object::Mutex)),
    ("pthread_mutex_destroy", Kind::Destroy(Object::Mutex)),
    ("mtx_init", Kind::Init(Object::Mutex)),
    ("mtx_destroy", Kind::Destroy(Object::Mutex)),
    ("pthread_rwlock_init", Kind::Init(Object::RwLock)),
    ("pthread_rwlock_destroy", Kind::Destroy(Object::RwLock)),
    ("pthread_cond_init", Kind::Init(Object::Condition)),
    ("pthread_cond_destroy", Kind::Destroy(Object::Condition)),
    ("cnd_init", Kind::Init(Object::Condition)),
    ("cnd_destroy", Kind::Destroy(Object::Condition)),
    ("pthread_barrier_init", Kind::Init(Object::Barrier)),
    ("pthread_barrier_destroy", Kind::Destroy(Object::Barrier)),
    ("sem_init", Kind::Init(Object::Semaphore)),
    ("sem_destroy", Kind::Destroy(Object::Semaphore)),
];

/// What functions of allocators are called after their prefix, if they have one ([`PREFIXES`]).
const ALLOCATING: [(&str, Kind); 21] = [
    ("malloc", Kind::Malloc),
    ("calloc", Kind::Calloc),
    ("realloc", Kind::Realloc),
    ("reallocarray", Kind::ReallocArray),
    ("free", Kind::Free),
    ("cfree", Kind::Free),
    ("free_sized", Kind::Free),
    ("free_aligned_sized", Kind::Free),
    ("aligned_alloc", Kind::Aligned),
    ("memalign", Kind::Aligned),
    ("valloc", Kind::Malloc),
    ("pvalloc", Kind::Malloc),
    ("posix_memalign", Kind::PosixMemalign),
    ("malloc_usable_size", Kind::Usable),
    ("malloc_size", Kind::Usable),
    // jemalloc's own.
    ("mallocx", Kind::Mallocx),
    ("rallocx", Kind::Realloc),
    ("xallocx", Kind::Resize),
    ("sallocx", Kind::Usable),
    ("dallocx", Kind::Free),
    ("sdallocx", Kind::Free),
];

/// Prefixes of those: none, glibc's, jemalloc's (and that of its Rust crate), gperftools', mimalloc's and oneTBB's.
const PREFIXES: [&str; 7] = ["", "__libc_", "je_", "_rjem_", "tc_", "mi_", "scalable_"];

/// Functions of single allocators.
const OWN: [(&str, Kind); 46] = [
    ("tc_new", Kind::Malloc),
    ("tc_new_nothrow", Kind::Malloc),
    ("tc_new_aligned", Kind::Malloc),
    ("tc_new_aligned_nothrow", Kind::Malloc),
    ("tc_newarray", Kind::Malloc),
    ("tc_newarray_nothrow", Kind::Malloc),
    ("tc_newarray_aligned", Kind::Malloc),
    ("tc_newarray_aligned_nothrow", Kind::Malloc),
    ("tc_malloc_skip_new_handler", Kind::Malloc),
    ("tc_delete", Kind::Free),
    ("tc_delete_nothrow", Kind::Free),
    ("tc_delete_sized", Kind::Free),
    ("tc_delete_aligned", Kind::Free),
    ("tc_delete_sized_aligned", Kind::Free),
    ("tc_deletearray", Kind::Free),
    ("tc_deletearray_nothrow", Kind::Free),
    ("tc_deletearray_sized", Kind::Free),
    ("tc_deletearray_aligned", Kind::Free),
    ("tc_deletearray_sized_aligned", Kind::Free),
    ("mi_malloc_small", Kind::Malloc),
    ("mi_malloc_aligned", Kind::Malloc),
    ("mi_malloc_aligned_at", Kind::Malloc),
    ("mi_mallocn", Kind::Calloc),
    ("mi_zalloc", Kind::Zalloc),
    ("mi_zalloc_small", Kind::Zalloc),
    ("mi_zalloc_aligned", Kind::Zalloc),
    ("mi_calloc_aligned", Kind::Calloc),
    ("mi_new", Kind::Malloc),
    ("mi_new_nothrow", Kind::Malloc),
    ("mi_new_aligned", Kind::Malloc),
    ("mi_new_aligned_nothrow", Kind::Malloc),
    ("mi_new_n", Kind::Calloc),
    ("mi_heap_malloc", Kind::Aligned),
    ("mi_heap_malloc_small", Kind::Aligned),
    ("mi_heap_malloc_aligned", Kind::Aligned),
    ("mi_heap_zalloc", Kind::AlignedZalloc),
    ("mi_realloc_aligned", Kind::Realloc),
    ("mi_rezalloc", Kind::Realloc),
    ("mi_reallocn", Kind::ReallocArray),
    ("mi_usable_size", Kind::Usable),
    ("mi_free_size", Kind::Free),
    ("mi_free_aligned", Kind::Free),
    ("mi_free_size_aligned", Kind::Free),
    ("scalable_aligned_malloc", Kind::Malloc),
    ("scalable_aligned_free", Kind::Free),
    ("scalable_msize", Kind::Usable),
];

/// `operator new` and `operator delete` in all their forms, as they are mangled: of one thing and of arrays; with a size,
/// an alignment, and without exceptions.
const OPERATORS: [(&str, Kind); 4] =
    [("_Znwm", Kind::Malloc), ("_Znam", Kind::Malloc), ("_ZdlPv", Kind::Free), ("_ZdaPv", Kind::Free)];

/// What follows them.
const FORMS: [&str; 6] =
    ["", "m", "RKSt9nothrow_t", "St11align_val_t", "mSt11align_val_t", "St11align_val_tRKSt9nothrow_t"];

/// What a function of this name does to the heap, if it is one of those that allocators have.
pub(super) fn allocation(name: &str) -> Option<Kind> {
    let of =
        |table: &[(&str, Kind)], name: &str| table.iter().find(|(it, _)| *it == name).map(|(_, kind)| *kind);
    let prefixed = PREFIXES.iter().filter_map(|prefix| of(&ALLOCATING, name.strip_prefix(prefix)?)).next();
    prefixed.or_else(|| of(&OWN, name)).or_else(|| operator(name))
}

/// Whether it is `operator new` or `operator delete`.
pub(super) fn operator(name: &str) -> Option<Kind> {
    let form = |(start, kind): &(&str, Kind)| {
        name.strip_prefix(start).is_some_and(|rest| FORMS.contains(&rest)).then_some(*kind)
    };
    OPERATORS.iter().find_map(form)
}

/// What a function of this name means, if it means something.
pub(super) fn meaning(name: &str) -> Option<Kind> {
    let tables = SYNCHRONISING.iter().chain(&LIVES);
    let synchronising = tables.into_iter().find(|(it, _)| *it == name).map(|(_, kind)| *kind);
    synchronising.or_else(|| allocation(name))
}

/// Functions of the C and C++ runtime that are run under the model: they wait without the kernel's help, or touch atomic
/// objects that the program's own code touches, too (the guards of local statics, reference counts, flags of barriers).
const STEPPED: [&str; 8] = [
    "pthread_spin_init",
    "pthread_spin_lock",
    "pthread_spin_trylock",
    "pthread_spin_unlock",
    "__cxa_guard_acquire",
    "__cxa_guard_release",
    "__cxa_guard_abort",
    "pthread_spin_destroy",
];

/// How the names of others begin, as they are mangled: functions of libstdc++ and libc++ behind what is inline.
const STEPPED_CXX: [&str; 10] = [
    "_ZNSt13__future_base13_State_baseV211_Make_ready",
    "_ZN9__gnu_cxx12__atomic_addEPVii",
    "_ZN9__gnu_cxx18__exchange_and_addEPVii",
    "_ZNSt3__111__call_onceE",
    "_ZNSt3__114__shared_count",
    "_ZNSt3__119__shared_weak_count",
    "_ZNSt3__120__libcpp_atomic_waitE",
    "_ZNSt3__123__cxx_atomic_notify_",
    "_ZNSt3__123__libcpp_atomic_monitorE",
    "_ZNSt3__131__arrive_barrier_algorithm_base",
];

/// Of this function of libstdc++, the static functions behind it, too: one of them makes a future ready when its thread
/// ends (`set_value_at_thread_exit`). In a stripped library they have no names.
pub(super) const STEPPED_BEHIND: &str = "_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv";

/// Whether a function of the C or C++ runtime is run under the model.
pub(super) fn is_stepped(name: &str) -> bool {
    STEPPED.contains(&name) || STEPPED_CXX.iter().any(|it| name.starts_with(it))
}

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
        !self.allocates() && !self.is_of_life() && !matches!(self, Kind::Ranges | Kind::Unknown)
    }

    /// Whether it begins or ends the life of what synchronises.
    pub(super) fn is_of_life(self) -> bool {
        matches!(self, Kind::Detach | Kind::Init(_) | Kind::Destroy(_))
    }

    pub(super) fn allocates(self) -> bool {
        use Kind::{
            Aligned, AlignedZalloc, Calloc, Free, Malloc, Mallocx, PosixMemalign, Realloc, ReallocArray,
            Resize, Usable, Zalloc,
        };
        matches!(
            self,
            Malloc
                | Mallocx
                | Zalloc
                | Calloc
                | Aligned
                | AlignedZalloc
                | PosixMemalign
                | Realloc
                | ReallocArray
                | Resize
                | Usable
                | Free
        )
    }

    /// What reports call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Lock | Kind::WriteLock | Kind::ReadLock => "lock",
            Kind::Unlock | Kind::RwUnlock => "unlock",
            Kind::CondWait => "wait",
            Kind::Signal | Kind::Post => "signal",
            Kind::Barrier => "barrier",
            Kind::Once => "once",
            Kind::Join | Kind::TryJoin => "join",
            Kind::Detach => "detach",
            Kind::Init(_) => "init",
            Kind::Destroy(_) => "destroy",
            Kind::SemWait => "sem_wait",
            Kind::Malloc
            | Kind::Mallocx
            | Kind::Zalloc
            | Kind::Calloc
            | Kind::Aligned
            | Kind::AlignedZalloc
            | Kind::PosixMemalign
            | Kind::Usable
            | Kind::Unknown => "malloc",
            Kind::Realloc | Kind::ReallocArray | Kind::Resize => "realloc",
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
    /// Where it was called from, once it is performed.
    pub(super) site: Site,
    /// It is glibc's own, which keeps the size of a block before the block.
    pub(super) glibc: bool,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocators_functions() {
        let table = [
            ("malloc", Some(Kind::Malloc)),
            ("__libc_memalign", Some(Kind::Aligned)),
            ("_rjem_sdallocx", Some(Kind::Free)),
            ("je_xallocx", Some(Kind::Resize)),
            ("mi_heap_malloc", Some(Kind::Aligned)),
            ("tc_delete_sized", Some(Kind::Free)),
            ("_Znwm", Some(Kind::Malloc)),
            ("_ZnamSt11align_val_tRKSt9nothrow_t", Some(Kind::Malloc)),
            ("_ZdlPvmSt11align_val_t", Some(Kind::Free)),
            ("_ZdaPvRKSt9nothrow_t", Some(Kind::Free)),
            ("mallopt", None),
            ("my_malloc", None),
            ("_ZnwmPv", None),
        ];
        for (name, kind) in table {
            assert_eq!(allocation(name), kind, "{name}");
        }
        assert_eq!(meaning("pthread_mutex_lock"), Some(Kind::Lock));
    }
}
