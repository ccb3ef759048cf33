//! Names of functions: which one was written by the user, and which one was asked for.

use wmtrace_decoder::debug::Frame;

/// The innermost frame that is not an atomic operation of a standard library; if all are, the outermost.
pub(super) fn written(frames: &[Frame]) -> Option<&Frame> {
    const LIBRARY: [&str; 7] = [
        "std::atomic",
        "std::__atomic_",
        "std::__cxx_atomic_",
        "std::__1::atomic",
        "std::__1::__atomic_",
        "std::__1::__cxx_atomic_",
        "core::sync::atomic::",
    ];
    let library = |frame: &Frame| {
        let name = frame.function.trim_start_matches('<');
        // Line tables have bare names (`atomic_load<u32>`), but know the file.
        let file = frame.line.as_ref().map_or("", |line| line.file.as_str());
        file.ends_with("/core/src/sync/atomic.rs")
            || file.ends_with("/bits/atomic_base.h")
            || LIBRARY.iter().any(|prefix| name.starts_with(prefix))
            // A template's name begins with its result: `bool std::atomic_…<int>(…)`.
            || name.split_once(' ').is_some_and(|(result, name)| {
                !result.contains(['(', '<', ':']) && LIBRARY.iter().any(|prefix| name.starts_with(prefix))
            })
    };
    frames.iter().find(|frame| !(frame.inlined && library(frame))).or(frames.last())
}

/// Whether a demangled name is the one that was asked for: all of it, or without parameters, or without namespaces.
pub(crate) fn is_function(name: &str, wanted: &str) -> bool {
    let short = name.split('(').next().unwrap_or(name);
    let ends =
        |name: &str| name.strip_suffix(wanted).is_some_and(|rest| rest.is_empty() || rest.ends_with("::"));
    ends(name) || ends(short)
}

/// The identifier that every function of this name has in its own: `push` of `q::Queue<int>::push(int)`. Empty if that
/// cannot be told (`{{closure}}`).
pub(crate) fn identifier(wanted: &str) -> &str {
    let (mut depth, mut start) = (0_u32, 0);
    let mut before = ' ';
    for (at, c) in wanted.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            '(' if depth == 0 && at > 0 => break,
            ':' if depth == 0 && before == ':' => start = at + 1,
            _ => {}
        }
        before = c;
    }
    let own = wanted[start..].trim_start_matches('~');
    own.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wmtrace_decoder::debug::SourceLine;

    #[test]
    fn identifiers_of_functions() {
        let expected = [
            ("push", "push"),
            ("q::Queue<std::map<int, a::b>>::push(std::string)", "push"),
            ("Queue::~Queue()", "Queue"),
            ("f<int>", "f"),
            ("main::{lambda(int)#1}::operator()(int) const", ""),
            ("Queue::operator+=", "operator"),
            ("<a::B as c::D>::e", "e"),
            ("a::b::{{closure}}", ""),
            ("(anonymous namespace)::f(int)", "f"),
            ("", ""),
        ];
        for (wanted, word) in expected {
            assert_eq!(identifier(wanted), word, "{wanted}");
        }
    }

    #[test]
    fn functions_by_name() {
        for wanted in ["q::Queue::push(int)", "q::Queue::push", "Queue::push", "push", "push(int)"] {
            assert!(is_function("q::Queue::push(int)", wanted), "{wanted}");
        }
        for wanted in ["ush", "Queue", "push()"] {
            assert!(!is_function("q::Queue::push(int)", wanted), "{wanted}");
        }
    }

    #[test]
    fn library_operations_are_not_what_was_written() {
        let frame = |function: &str, inlined| Frame { function: function.into(), inlined, line: None };
        let frames = [
            frame("std::__atomic_base<int>::load(std::memory_order) const", true),
            frame("push(std::atomic<int>&)", true),
            frame("main", false),
        ];
        assert_eq!(written(&frames).unwrap().function, "push(std::atomic<int>&)");
        assert_eq!(
            written(&[frame("std::atomic<int>::load() const", false)]).unwrap().function,
            "std::atomic<int>::load() const"
        );
        let line =
            SourceLine { file: "/rust/library/core/src/sync/atomic.rs".into(), line: 3890, column: 24 };
        let bare = [
            Frame { function: "atomic_load<u32>".into(), inlined: true, line: Some(line) },
            frame("pop", false),
        ];
        assert_eq!(written(&bare).unwrap().function, "pop");
        let template = [frame("Queue<std::atomic<int> >::push()", true), frame("main", false)];
        assert_eq!(written(&template).unwrap().function, "Queue<std::atomic<int> >::push()");
    }
}
