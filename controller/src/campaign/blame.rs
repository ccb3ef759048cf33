//! Which frame of a stack a reader wants to see: not the library function that was called to fail, but its caller.

use crate::engine::{Location, ModuleInfo};

/// Functions that are only ever called because something has already gone wrong, by the beginning of their names.
const MACHINERY: [&str; 24] = [
    "abort",
    "raise",
    "gsignal",
    "__GI_",
    "__assert",
    "__pthread_kill",
    "pthread_kill",
    "__libc_message",
    "__fortify_fail",
    "__stack_chk_fail",
    "malloc_printerr",
    "__cxa_throw",
    "__cxa_rethrow",
    "__cxxabiv1::",
    "__gnu_cxx::__verbose_terminate_handler",
    "std::terminate",
    "std::__throw_",
    "std::process::abort",
    "std::panicking::",
    "std::sys::",
    "core::panicking::",
    "core::result::unwrap_failed",
    "core::option::",
    "rust_",
];

/// Where the source of compilers' own libraries is: what is inlined from there is not what somebody wrote.
const LIBRARIES: [&str; 5] = ["/usr/include/", "/usr/lib/", "/rustc/", "/usr/src/", "/build/"];

/// Whether the frame is of a library's function that was inlined, or compiled, into the program.
pub(crate) fn is_library(place: &Location) -> bool {
    let file = place.file.as_deref().unwrap_or_default();
    // A cross compiler's: /usr/aarch64-linux-gnu/include/.
    let of_another = file.strip_prefix("/usr/").and_then(|rest| rest.split('/').nth(1)) == Some("include");
    of_another
        || file.contains("/include/c++/")
        || LIBRARIES.iter().any(|root| file.starts_with(root))
        || file.contains("/rustlib/src/")
}

/// Whether a function of a compiler's own library makes an access: the atomic operation itself is one, and does not count.
pub(crate) fn is_of_library(stack: &[Location]) -> bool {
    let operation = |place: &&Location| {
        let file = place.file.as_deref().unwrap_or_default();
        is_library(place) && file.rsplit('/').next().is_some_and(|name| name.contains("atomic"))
    };
    let inlined = stack.iter().take_while(|place| place.inlined).count();
    let by = stack.iter().take(inlined + 1).find(|place| !operation(place));
    by.is_some_and(is_library)
}

/// The frame that names an event: the first that is the program's own.
pub(crate) fn own(stack: &[Location]) -> Option<&Location> {
    // Only as far as inlining goes: a caller is another place.
    let inlined = stack.iter().take_while(|place| place.inlined).count();
    stack.iter().take(inlined + 1).find(|place| !is_library(place)).or(stack.first())
}

/// The index of that frame; 0 if there is no better one.
pub(crate) fn blamed(stack: &[Location], modules: &[ModuleInfo]) -> usize {
    let native = |place: &Location| {
        let is = |module: &&ModuleInfo| module.path.rsplit('/').next() == Some(place.module.as_str());
        modules.iter().find(is).is_some_and(|module| !module.managed)
    };
    let machinery = |place: &Location| {
        let name = place.function.as_deref().unwrap_or_default();
        let name = name.strip_prefix("__rustc::").unwrap_or(name);
        MACHINERY.iter().any(|prefix| name.starts_with(prefix))
    };
    let first = stack.iter().position(|place| !native(place) && !machinery(place)).unwrap_or(0);
    // Not where it was inlined from, but where it was written: with sources outside, without them there is no telling.
    let own =
        stack.iter().skip(first).position(|place| !native(place) && !machinery(place) && !is_library(place));
    own.map_or(first, |own| first + own)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(module: &str, function: &str) -> Location {
        Location {
            module: module.into(),
            offset: 16,
            function: Some(function.into()),
            file: None,
            line: 0,
            column: 0,
            inlined: false,
        }
    }

    #[test]
    fn a_line_of_a_library_is_not_what_was_written() {
        let at = |file: &str, inlined| Location { file: Some(file.into()), inlined, ..frame("prog", "f") };
        let stack =
            [at("/usr/include/c++/12/atomic", true), at("/home/x/a.cc", false), at("/home/x/b.cc", false)];
        assert_eq!(own(&stack), Some(&stack[1]));
        assert_eq!(blamed(&stack, &[]), 1);
        let cross = [at("/usr/aarch64-linux-gnu/include/c++/12/atomic", true), at("/home/x/a.cc", false)];
        assert_eq!(own(&cross), Some(&cross[1]));
        assert!(is_library(&at("/opt/gcc-14/include/c++/14/atomic", true)));
        assert!(!is_library(&at("/home/x/include/queue.h", true)));
        let outside = [at("/usr/include/c++/12/thread", false), at("/home/x/a.cc", false)];
        assert_eq!(own(&outside), Some(&outside[0]), "the caller is another place");
        assert_eq!(own(&[]), None);
    }

    #[test]
    fn whose_access_it_is() {
        let at = |file: &str, inlined| Location { file: Some(file.into()), inlined, ..frame("prog", "f") };
        let (operation, library, own) = (
            at("/rustc/59807616e/library/core/src/sync/atomic.rs", true),
            at("/rustc/59807616e/library/alloc/src/sync.rs", true),
            at("/home/x/a.rs", false),
        );
        assert!(is_of_library(&[operation.clone(), library, own.clone()]));
        assert!(!is_of_library(&[operation.clone(), own]));
        assert!(!is_of_library(&[]));
        assert!(!is_of_library(&[operation]), "nobody knows who calls it");
    }

    #[test]
    fn the_caller_of_the_machinery_is_blamed() {
        let module = |path: &str, managed| ModuleInfo { path: path.into(), build_id: String::new(), managed };
        let modules = [module("/opt/prog", true), module("/lib/libc.so.6", false)];
        let c = [
            frame("libc.so.6", "raise"),
            frame("libc.so.6", "odd"),
            frame("prog", "check"),
            frame("prog", "main"),
        ];
        assert_eq!(blamed(&c, &modules), 2);
        let rust = [
            frame("prog", "__rustc::rust_panic"),
            frame("prog", "std::panicking::begin_panic_handler"),
            frame("prog", "core::panicking::panic_fmt"),
            frame("prog", "queue::push"),
        ];
        assert_eq!(blamed(&rust, &modules), 3);
        assert_eq!(blamed(&c[..2], &modules), 0, "nobody else is there");
        assert_eq!(blamed(&[], &modules), 0);
    }
}
