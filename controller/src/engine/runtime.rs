//! Which code of a program's own file is not the program's: the C runtime of a static program, and an allocator that is
//! linked into the program. It runs natively, as the same code does in a library of its own.
//!
//! # The rule
//!
//! Linkers place the members of an archive one after the other. So what lies between two functions of an archive is of
//! that archive, unless there is evidence against it. Functions are looked at in the order of their addresses:
//!
//! - A function is *certain* if it has a name that only the archive's own functions have. Of glibc these are the names that
//!   a dynamic glibc does not export (`runtime/glibc.txt`); what it exports (`malloc`, `__assert_fail`), programs may
//!   define themselves. Of libstdc++ and libgcc they are members of classes that no program can specialise
//!   ([`CXX`], [`UNWINDER`]); weak symbols do not count, since every object may have its own copy of them.
//! - A function is *possible* if all its names might be the archive's: names that the C standard reserves, names that glibc
//!   exports, and static functions.
//! - Every other function is somebody else's, and so is each one that debug information covers (the archives of
//!   distributions have none; an allocator may have been compiled with the program).
//!
//! Native is what lies between the first and the last certain function of a run of certain and possible ones, if the run
//! has at least [`ENOUGH`] certain ones; and static functions next to it, of a source file that the run has others of
//! (`STT_FILE`). A run never begins or ends with a function that is merely possible: that may be the program's.
//!
//! An object of an archive that is not the C runtime's cannot lie inside a run unseen: it was taken for the sake of a global
//! symbol, and that one is neither certain nor possible. What could be mistaken is an object without debug information and
//! without any global function that the user has placed *behind* the C library (`gcc a.o -lc b.o`), or such functions
//! that an ordering file of the linker has put there.
//!
//! Without symbols nothing is recognised: all code is the program's.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;
use wmtrace_decoder::debug::Debug;
use wmtrace_decoder::image::Image;

/// How many certain functions a run of them needs: one that a program defines for some reason is not enough.
const ENOUGH: usize = 8;

/// Whose code it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Whose {
    /// The C library's: what it locks, it locks for itself.
    Core,
    /// The compiler's, or the C++ library's.
    Support,
    /// An allocator's.
    Allocator,
}

/// Code that runs natively although the file is under the model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Native {
    pub(super) range: Range<u64>,
    pub(super) whose: Whose,
}

/// A function of the symbol table, with all its names.
#[derive(Debug)]
struct Function<'a> {
    start: u64,
    end: u64,
    names: Vec<Name<'a>>,
    /// The section that it is in.
    section: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Name<'a> {
    text: &'a str,
    binding: Binding,
    /// Of a static function: which entry of the symbol table names its source file.
    file: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Binding {
    Local,
    Global,
    Weak,
}

/// What a function's names say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Certain(Whose),
    Possible,
    Other,
}

/// An archive whose code is looked for.
struct Family {
    /// Functions of which a program with the archive has one.
    signs: &'static [&'static str],
    /// Whether it may have debug information.
    with_debug: bool,
    judge: fn(&Name<'_>) -> Verdict,
}

const FAMILIES: [Family; 4] = [
    Family { signs: &["__libc_setup_tls"], with_debug: false, judge: judge_runtime },
    Family {
        signs: &["je_arena_boot", "_rjem_je_arena_boot"],
        with_debug: true,
        judge: |name| judge_allocator(name, &["je_", "_rjem_"], &[]),
    },
    Family {
        signs: &["mi_process_init", "_mi_process_init"],
        with_debug: true,
        judge: |name| judge_allocator(name, &["mi_", "_mi_"], &[]),
    },
    Family {
        signs: &["tc_malloc"],
        with_debug: true,
        judge: |name| judge_allocator(name, &["tc_", "_ZN8tcmalloc", "_ZNK8tcmalloc"], &GPERFTOOLS),
    },
];

/// Classes and namespaces of the C++ library that have functions of their own, and that programs cannot specialise.
const CXX: [&str; 14] = [
    "_ZN10__cxxabiv1",
    "_ZNK10__cxxabiv1",
    "_ZN9__gnu_cxx9__freeres",
    "_ZN9__gnu_cxx27__verbose_terminate_handler",
    "_ZNSt8ios_base",
    "_ZNKSt8ios_base",
    "_ZNSt6locale",
    "_ZNKSt6locale",
    "_ZNSt6thread",
    "_ZNSt9type_info",
    "_ZNKSt9type_info",
    "_ZNSt12__basic_file",
    "_ZNSt13runtime_error",
    "_ZNSt11logic_error",
];

/// Functions of the compiler's runtime.
const UNWINDER: [&str; 2] = ["_Unwind_", "uw_"];

/// What gperftools calls its functions, beside `tcmalloc` and `tc_`.
const GPERFTOOLS: [&str; 24] = [
    "MallocExtension",
    "MallocHook",
    "TCMalloc",
    "RunningOnValgrind",
    "_Z16GetenvBeforeMain",
    "_Z17RawOpenForWriting",
    "_Z18GetSystemCPUsCount",
    "_Z20GetUniquePathFromEnv",
    "_Z20InitSystemAllocators",
    "_Z24tc_get_sysalloc_override",
    "_Z7RAW_LOG",
    "_Z8RAW_VLOG",
    "_Z8RawClose",
    "_Z8RawWrite",
    "_Z9LogPrintf",
    "perftools_",
    "10MallocHook",
    "11SymbolTable",
    "SysAllocator",
    "ProcMapsIterator",
    "GoogleInitializer",
    "8SpinLock",
    "14SpinLockHolder",
    "4base8internal",
];

/// Functions at the very beginning of the code, before the program's own, and those of the program.
const BOUNDS: [&str; 7] = [
    "_start",
    "_dl_relocate_static_pie",
    "deregister_tm_clones",
    "register_tm_clones",
    "__do_global_dtors_aux",
    "frame_dummy",
    "main",
];

struct Names {
    internal: HashSet<&'static str>,
    public: HashSet<&'static str>,
}

static GLIBC: LazyLock<Names> = LazyLock::new(|| {
    let lines = include_str!("runtime/glibc.txt").lines().filter(|line| !line.starts_with('#'));
    let (mut internal, mut public) = (HashSet::new(), HashSet::new());
    let mut list = &mut internal;
    for line in lines {
        match line {
            "[internal]" => {}
            "[public]" => list = &mut public,
            name => {
                list.insert(name);
            }
        }
    }
    Names { internal, public }
});

/// The parts of a file's code that run natively, by address.
pub(super) fn native(image: &Image, debug: &Debug) -> Vec<Native> {
    let wanted: Vec<&Family> = FAMILIES.iter().filter(|family| family.is_in(image)).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let (Some(symbols), Some(strings)) = (image.section(".symtab"), image.section(".strtab")) else {
        return Vec::new();
    };
    let functions = functions(symbols.bytes(), strings.bytes());
    let mut native: Vec<Native> = Vec::new();
    for family in wanted {
        let has_debug = |function: &Function<'_>| !family.with_debug && debug.line(function.start).is_some();
        native.extend(runs(&functions, family.judge, &has_debug, &|gap| is_padding(image, gap)));
    }
    native.sort_by_key(|it| it.range.start);
    // Two families do not share code, unless something is wrong: then it is the program's.
    let overlaps = native.windows(2).any(|pair| pair[0].range.end > pair[1].range.start);
    if overlaps { Vec::new() } else { native }
}

impl Family {
    fn is_in(&self, image: &Image) -> bool {
        image.symbols().iter().any(|it| it.function && self.signs.contains(&it.name.as_str()))
    }
}

/// The name without what compilers add to the names of parts and copies of a function.
fn base(name: &str) -> &str {
    name.split('.').next().filter(|base| !base.is_empty()).unwrap_or(name)
}

/// Whether the C standard reserves a name to the implementation (in C++: the standard library's namespaces too).
fn is_reserved(name: &str) -> bool {
    if let Some(mangled) = name.strip_prefix("_Z") {
        const STANDARD: [&str; 14] = [
            "NSt",
            "NKSt",
            "St",
            "NSs",
            "NKSs",
            "NSo",
            "NKSo",
            "NSi",
            "NKSi",
            "NSd",
            "N9__gnu_cxx",
            "NK9__gnu_cxx",
            "N10__cxxabiv1",
            "NK10__cxxabiv1",
        ];
        // Thunks (`Thn24_`, `Tv0_n24_`) and transactional clones (`GTt`) are named after what they lead to.
        let thunk = ["Th", "Tv"].iter().find_map(|prefix| mangled.strip_prefix(prefix));
        let target = thunk.and_then(|rest| rest.find("NS").map(|at| &rest[at..]));
        let target = target.or(mangled.strip_prefix("GTt")).unwrap_or(mangled);
        return STANDARD.iter().any(|prefix| target.starts_with(prefix))
            || mangled.contains("_txnal_")
            || super::calls::operator(name).is_some();
    }
    // Rust's mangled names are no reserved ones.
    let rust = name.starts_with("_R") && name.len() > 3;
    let mut bytes = name.bytes();
    bytes.next() == Some(b'_')
        && bytes.next().is_some_and(|it| it == b'_' || it.is_ascii_uppercase())
        && !rust
}

fn judge_runtime(name: &Name<'_>) -> Verdict {
    let text = base(name.text);
    if BOUNDS.contains(&text) {
        return Verdict::Other;
    }
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| text.starts_with(prefix));
    if GLIBC.internal.contains(text) {
        return Verdict::Certain(Whose::Core);
    }
    if name.binding != Binding::Weak && (starts(&CXX) || starts(&UNWINDER)) {
        return Verdict::Certain(Whose::Support);
    }
    let possible = name.binding == Binding::Local || is_reserved(text) || GLIBC.public.contains(text);
    if possible { Verdict::Possible } else { Verdict::Other }
}

/// The same for an allocator, whose names begin like this, or contain one of its own words.
fn judge_allocator(name: &Name<'_>, prefixes: &[&str], words: &[&str]) -> Verdict {
    let text = base(name.text);
    if BOUNDS.contains(&text) {
        return Verdict::Other;
    }
    if name.binding == Binding::Global && prefixes.iter().any(|prefix| text.starts_with(prefix)) {
        return Verdict::Certain(Whose::Allocator);
    }
    let possible = name.binding == Binding::Local
        || prefixes.iter().any(|prefix| text.starts_with(prefix))
        || words.iter().any(|word| text.contains(word))
        || super::calls::allocation(text).is_some()
        || ["malloc_", "mallctl", "mall", "nallocx", "sallocx", "mmap", "munmap", "mremap", "sbrk"]
            .iter()
            .any(|prefix| text.starts_with(prefix))
        || name.binding == Binding::Weak && is_reserved(text);
    if possible { Verdict::Possible } else { Verdict::Other }
}

/// The functions of a symbol table, by address.
fn functions<'a>(symbols: &'a [u8], strings: &'a [u8]) -> Vec<Function<'a>> {
    let mut found: BTreeMap<u64, Function<'a>> = BTreeMap::new();
    let mut file = None;
    for (number, entry) in symbols.chunks_exact(24).enumerate() {
        let word = |at: usize| u64::from_le_bytes(entry[at..at + 8].try_into().expect("eight bytes"));
        let (kind, section) = (entry[4] & 15, u16::from_le_bytes([entry[6], entry[7]]));
        let binding = match entry[4] >> 4 {
            0 => Binding::Local,
            1 => Binding::Global,
            _ => Binding::Weak,
        };
        const FUNCTION: u8 = 2;
        const FILE: u8 = 4;
        const INDIRECT: u8 = 10;
        if kind == FILE {
            file = Some(number);
        }
        let (start, size) = (word(8), word(16));
        if !matches!(kind, FUNCTION | INDIRECT) || section == 0 || size == 0 {
            continue;
        }
        let at = u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]) as usize;
        let Some(rest) = strings.get(at..) else { continue };
        let len = rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len());
        let Ok(text) = std::str::from_utf8(&rest[..len]) else { continue };
        let end = start.saturating_add(size);
        let function =
            found.entry(start).or_insert_with(|| Function { start, end, names: Vec::new(), section });
        function.end = function.end.max(end);
        let file = file.filter(|_| binding == Binding::Local);
        function.names.push(Name { text, binding, file });
    }
    found.into_values().collect()
}

/// What all names of a function say.
fn verdict(function: &Function<'_>, judge: fn(&Name<'_>) -> Verdict) -> Verdict {
    let verdicts = || function.names.iter().map(judge);
    if let Some(certain) = verdicts().find(|it| matches!(it, Verdict::Certain(_))) {
        return certain;
    }
    if verdicts().all(|it| it == Verdict::Possible) { Verdict::Possible } else { Verdict::Other }
}

/// The native code among these functions.
fn runs(
    functions: &[Function<'_>],
    judge: fn(&Name<'_>) -> Verdict,
    has_debug: &dyn Fn(&Function<'_>) -> bool,
    is_padding: &dyn Fn(Range<u64>) -> bool,
) -> Vec<Native> {
    let mut verdicts: Vec<Verdict> = functions.iter().map(|function| verdict(function, judge)).collect();
    // Debug information is asked only where it matters: it is read by the unit.
    for run in trimmed(functions, &verdicts) {
        for at in run {
            if has_debug(&functions[at]) {
                verdicts[at] = Verdict::Other;
            }
        }
    }
    let mut native: Vec<Native> = Vec::new();
    for run in trimmed(functions, &verdicts) {
        // What precedes the first certain one is of its file.
        let Verdict::Certain(mut whose) = verdicts[run.start] else { continue };
        for at in extended(functions, &verdicts, run) {
            if let Verdict::Certain(owner) = verdicts[at] {
                whose = owner;
            }
            let range = functions[at].start..functions[at].end;
            match native.last_mut() {
                Some(last)
                    if last.whose == whose
                        && last.range.end <= range.start
                        && is_padding(last.range.end..range.start) =>
                {
                    last.range.end = range.end;
                }
                // One entry of a function that has several.
                Some(last) if last.range.end > range.start => last.range.end = last.range.end.max(range.end),
                _ => native.push(Native { range, whose }),
            }
        }
    }
    native
}

/// Runs of functions that are not somebody else's, from the first to the last that is certain; as numbers of functions.
fn trimmed(functions: &[Function<'_>], verdicts: &[Verdict]) -> Vec<Range<usize>> {
    let is_certain = |at: &usize| matches!(verdicts[*at], Verdict::Certain(_));
    let mut found = Vec::new();
    let mut start = 0;
    for end in 0..=functions.len() {
        let ends = end == functions.len()
            || verdicts[end] == Verdict::Other
            || end > start && functions[end].section != functions[start].section;
        if !ends {
            continue;
        }
        let mut certain = (start..end).filter(is_certain);
        if let (Some(first), Some(last)) = (certain.next(), (start..end).rfind(is_certain))
            && certain.count() + 1 >= ENOUGH
        {
            found.push(first..last + 1);
        }
        let other = end < functions.len() && verdicts[end] == Verdict::Other;
        start = if other { end + 1 } else { end };
    }
    found
}

/// The run and static functions next to it that are of the same source files.
fn extended(functions: &[Function<'_>], verdicts: &[Verdict], run: Range<usize>) -> Range<usize> {
    let files: HashSet<usize> =
        functions[run.clone()].iter().flat_map(|it| it.names.iter().filter_map(|name| name.file)).collect();
    let section = functions[run.start].section;
    let belongs = |at: usize| {
        let function = &functions[at];
        let same = |name: &Name<'_>| name.file.is_some_and(|file| files.contains(&file));
        function.section == section && verdicts[at] == Verdict::Possible && function.names.iter().all(same)
    };
    let before = (0..run.start).rev().take_while(|&at| belongs(at)).count();
    let after = (run.end..functions.len()).take_while(|&at| belongs(at)).count();
    run.start - before..run.end + after
}

/// Whether there is nothing between two functions.
fn is_padding(image: &Image, gap: Range<u64>) -> bool {
    /// The largest alignment of a function.
    const ALIGNED: u64 = 64;
    /// Bytes of instructions that do nothing, and of none.
    const NOTHING: [u8; 12] = [0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x80, 0x00, 0x90, 0x40, 0x44, 0xcc, 0xf3];
    let len = gap.end - gap.start;
    let bytes = || image.code_at(gap.start).and_then(|bytes| bytes.get(..len as usize));
    len == 0 || len < ALIGNED && bytes().is_some_and(|bytes| bytes.iter().all(|byte| NOTHING.contains(byte)))
}

/// The function of `<string.h>` or the like that an implementation of the C library's is: `__memmove_avx_unaligned_erms` is
/// `memmove`.
pub(super) fn implements(name: &str) -> &str {
    const KINDS: [&str; 7] = ["_sse", "_ssse", "_avx", "_evex", "_erms", "_generic", "_unaligned"];
    let name = name.strip_prefix("__").unwrap_or(name);
    let end = KINDS.iter().filter_map(|kind| name.find(kind)).min();
    let name = &name[..end.unwrap_or(name.len())];
    name.strip_suffix("_chk").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Functions of 16 bytes, one after the other.
    fn program(names: &[(&'static str, Binding, usize)]) -> Vec<Function<'static>> {
        let at = |(number, &(text, binding, file)): (u64, &(&'static str, Binding, usize))| Function {
            start: 16 * number,
            end: 16 * number + 16,
            names: vec![Name { text, binding, file: (binding == Local).then_some(file) }],
            section: 1,
        };
        (0..).zip(names).map(at).collect()
    }

    fn ranges(names: &[(&'static str, Binding, usize)]) -> Vec<(Range<u64>, Whose)> {
        let functions = program(names);
        let found = runs(&functions, judge_runtime, &|_| false, &|gap| gap.is_empty());
        found.into_iter().map(|it| (it.range.start / 16..it.range.end / 16, it.whose)).collect()
    }

    use Binding::{Global, Local, Weak};

    const LIBC: [(&str, Binding, usize); 9] = [
        ("__libc_setup_tls", Global, 0),
        ("__libc_tls_helper", Local, 7),
        ("_IO_new_file_write", Global, 0),
        ("_IO_new_file_seekoff", Global, 0),
        ("_nl_load_locale", Global, 0),
        ("__libc_message", Global, 0),
        ("__getcwd", Global, 0),
        ("_dl_aux_init", Global, 0),
        ("__sigjmp_save", Global, 0),
    ];

    #[test]
    fn what_lies_between_certain_functions_is_native() {
        let mut names = vec![("main", Global, 0), ("worker", Local, 1)];
        names.extend(LIBC);
        names.push(("memcpy", Global, 0));
        assert_eq!(ranges(&names), [(2..11, Whose::Core)], "the last one is merely possible");
    }

    #[test]
    fn static_functions_of_the_same_file_belong_to_it() {
        let mut names = vec![("worker", Local, 1), ("tls_helper", Local, 7)];
        names.extend(LIBC);
        names.extend([("another", Local, 7), ("users", Local, 1)]);
        assert_eq!(ranges(&names), [(1..12, Whose::Core)]);
    }

    #[test]
    fn others_functions_are_not() {
        // Too few on each side of somebody else's.
        let mut names = LIBC.to_vec();
        names.insert(4, ("users", Global, 0));
        assert_eq!(ranges(&names), []);
        // Enough on both.
        let mut names = LIBC.to_vec();
        names.push(("users", Global, 0));
        names.push(("static_of_users", Local, 3));
        names.extend(LIBC);
        assert_eq!(ranges(&names), [(0..9, Whose::Core), (11..20, Whose::Core)]);
        // A program that has one such function.
        assert_eq!(ranges(&[("main", Global, 0), ("__libc_setup_tls", Global, 0), ("f", Local, 1)]), []);
    }

    #[test]
    fn the_users_copies_of_templates_are_the_users() {
        let mut names = vec![("main", Global, 0), ("_ZNSt6vectorIiSaIiEE9push_backEi", Weak, 0)];
        names.push(("_ZNSt6threadC1Ev", Weak, 0));
        names.push(("_ZNSt6thread4joinEv", Global, 0));
        names.push(("_ZNSt6vectorIcSaIcEE9push_backEc", Weak, 0));
        names.extend(LIBC);
        assert_eq!(ranges(&names), [(3..5, Whose::Support), (5..14, Whose::Core)]);
    }

    #[test]
    fn debug_information_says_whose_it_is() {
        let functions = program(&LIBC);
        assert_eq!(runs(&functions, judge_runtime, &|_| false, &|gap| gap.is_empty()).len(), 1);
        assert_eq!(runs(&functions, judge_runtime, &|it| it.start == 64, &|gap| gap.is_empty()), []);
    }

    #[test]
    fn reserved_names() {
        for name in ["__x", "_Xyz", "_ZNSt6threadC1Ev", "_ZdlPv", "_ZTv0_n24_NSt13basic_istreamD1Ev"] {
            assert!(is_reserved(name), "{name}");
        }
        for name in ["x", "_x", "_", "", "_RNvC1a4main", "_ZN3foo3barEv", "_Z3foov", "_ZThn8_N3fooD1Ev"] {
            assert!(!is_reserved(name), "{name}");
        }
    }

    #[test]
    fn implementations() {
        assert_eq!(implements("__memmove_avx_unaligned_erms"), "memmove");
        assert_eq!(implements("__strlen_sse2"), "strlen");
        assert_eq!(implements("memcpy"), "memcpy");
        assert_eq!(implements("__memset_chk_avx2_unaligned"), "memset");
        assert_eq!(implements("__sched_yield"), "sched_yield");
    }
}
