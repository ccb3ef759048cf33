//! What a program says on its standard error when it gives up.

/// A message of an assertion, a panic, or the C++ runtime.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Said {
    /// What is the same each time it happens: no values, thread ids or addresses.
    pub(crate) key: String,
    /// In one line.
    pub(crate) message: String,
}

/// The last message of this kind (what comes after it are backtraces); but whoever panics because a thread that it waits for
/// has panicked says nothing new: then what that one said.
pub(crate) fn said(stderr: &[u8]) -> Option<Said> {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().collect();
    let messages = (0..lines.len())
        .rev()
        .filter_map(|index| message(lines[index], lines.get(index + 1).copied().unwrap_or_default()));
    let mut messages = messages.peekable();
    let last = messages.peek().cloned();
    messages.find(|said| !is_passed_on(said)).or(last)
}

/// Whether it is what `thread.join().unwrap()` or `thread::scope` says of a thread that has panicked.
fn is_passed_on(said: &Said) -> bool {
    said.key.starts_with("panicked at ")
        && (said.message.contains(": Any { .. }") || said.message.ends_with("a scoped thread panicked"))
}

fn message(line: &str, next: &str) -> Option<Said> {
    let next = next.trim();
    // thread 'main' (1234) panicked at src/main.rs:3:5:
    if let Some(at) = line.find("panicked at ") {
        let place = line[at..].trim_end().trim_end_matches(':');
        // Before Rust 1.73 the message came first, in quotes, on the same line.
        let message = if line.trim_end().ends_with(':') && !next.is_empty() {
            format!("{place}: {next}")
        } else {
            place.to_string()
        };
        return Some(Said { key: place.to_string(), message });
    }
    // prog: file.c:12: main: Assertion `x == 1' failed.
    let glibc = line.contains("Assertion `") && line.contains("' failed");
    // musl: Assertion failed: x == 1 (file.c: main: 12)
    if glibc || line.starts_with("Assertion failed: ") {
        return Some(Said { key: line.trim().to_string(), message: line.trim().to_string() });
    }
    if let Some(at) = line.find("terminate called ") {
        let what = line[at..].trim();
        let message = match next.strip_prefix("what():") {
            Some(why) => format!("{what}: {}", why.trim()),
            None => what.to_string(),
        };
        return Some(Said { key: what.to_string(), message });
    }
    // The C library's own checks.
    let checks = ["*** stack smashing detected", "*** buffer overflow detected", "double free or corruption"];
    let checked = checks.iter().any(|check| line.contains(check))
        || ["malloc(): ", "free(): ", "realloc(): ", "munmap_chunk(): ", "corrupted "]
            .iter()
            .any(|check| line.starts_with(check));
    checked.then(|| Said { key: line.trim().to_string(), message: line.trim().to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_say() {
        let cases: &[(&str, &str, &str)] = &[
            (
                "hello\nt: a.c:12: main: Assertion `r == 1' failed.\n",
                "t: a.c:12: main: Assertion `r == 1' failed.",
                "t: a.c:12: main: Assertion `r == 1' failed.",
            ),
            (
                "Assertion failed: r == 1 (a.c: main: 12)\n",
                "Assertion failed: r == 1 (a.c: main: 12)",
                "Assertion failed: r == 1 (a.c: main: 12)",
            ),
            (
                "thread '<unnamed>' (77) panicked at src/main.rs:3:5:\nboom 17\nnote: run with …",
                "panicked at src/main.rs:3:5",
                "panicked at src/main.rs:3:5: boom 17",
            ),
            (
                "thread 'main' panicked at 'boom', src/main.rs:3:5",
                "panicked at 'boom', src/main.rs:3:5",
                "panicked at 'boom', src/main.rs:3:5",
            ),
            (
                "thread '<unnamed>' panicked at src/main.rs:3:5:\nboom\nnote: run with …\nthread 'main' panicked at \
                 src/main.rs:9:24:\ncalled `Result::unwrap()` on an `Err` value: Any { .. }\n",
                "panicked at src/main.rs:3:5",
                "panicked at src/main.rs:3:5: boom",
            ),
            (
                "thread 'main' panicked at src/main.rs:9:24:\na scoped thread panicked\n",
                "panicked at src/main.rs:9:24",
                "panicked at src/main.rs:9:24: a scoped thread panicked",
            ),
            (
                "terminate called after throwing an instance of 'std::runtime_error'\n  what():  no\n",
                "terminate called after throwing an instance of 'std::runtime_error'",
                "terminate called after throwing an instance of 'std::runtime_error': no",
            ),
            ("free(): invalid pointer\n", "free(): invalid pointer", "free(): invalid pointer"),
        ];
        for (stderr, key, message) in cases {
            let said = said(stderr.as_bytes()).expect(stderr);
            assert_eq!((said.key.as_str(), said.message.as_str()), (*key, *message));
        }
        assert_eq!(said(b"all is well\n\xff\n"), None);
        assert_eq!(said(b""), None);
    }
}
