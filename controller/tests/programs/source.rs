//! The programs of targets/programs: where they are, and what their first comment says about them.

use std::path::{Path, PathBuf};

/// What a program is written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Language {
    C,
    Cpp,
    Rust,
}

/// Wrong or right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Variant {
    Buggy,
    Right,
}

/// A program, and its header: lines `// Key: value` before the first line of code.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    /// `verdicts/race.cpp`
    pub(crate) name: String,
    pub(crate) language: Language,
    pub(crate) text: String,
    /// Kinds of bugs of the wrong variant; empty if there is only a right one. `clean`: it may go unnoticed.
    pub(crate) expect: Vec<String>,
    /// The status of the right variant.
    pub(crate) status: i32,
    /// For the compiler.
    pub(crate) flags: Vec<String>,
    /// For wmtrace.
    pub(crate) options: Vec<String>,
    pub(crate) stdin: String,
    /// Whether it is also compiled as a shared object, whose path is its argument.
    pub(crate) plugin: bool,
}

/// The kinds of DESIGN's §5.
const KINDS: [&str; 14] = [
    "race",
    "assertion",
    "crash",
    "exit",
    "deadlock",
    "livelock",
    "use_after_free",
    "uninitialised_load",
    "lock_misuse",
    "join_misuse",
    "use_after_return",
    "allocation_race",
    "spec",
    "timeout",
];

pub(crate) fn targets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../targets").canonicalize().unwrap()
}

impl Source {
    /// The program of this name, such as `verdicts/race.cpp`.
    pub(crate) fn named(name: &str) -> Source {
        let path = targets().join("programs").join(name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let language = match path.extension().and_then(|extension| extension.to_str()) {
            Some("c") => Language::C,
            Some("cpp") => Language::Cpp,
            Some("rs") => Language::Rust,
            other => panic!("{name}: no language ends in {other:?}"),
        };
        let mut source = Source {
            path,
            name: name.to_owned(),
            language,
            expect: Vec::new(),
            status: 0,
            flags: Vec::new(),
            options: Vec::new(),
            stdin: String::new(),
            plugin: false,
            text,
        };
        source.read_header();
        source
    }

    fn read_header(&mut self) {
        let text = self.text.clone();
        let words = |value: &str| value.split_whitespace().map(str::to_owned).collect();
        let header = text.lines().map_while(|line| line.strip_prefix("// "));
        for (key, value) in header.filter_map(|line| line.split_once(": ")) {
            match key {
                "Expect" if value == "clean" => {}
                "Expect" => self.expect = value.split('|').map(str::to_owned).collect(),
                "Status" => self.status = value.parse().unwrap(),
                "Flags" => self.flags = words(value),
                "Options" => self.options = words(value),
                "Stdin" => self.stdin = format!("{value}\n"),
                "Plugin" => self.plugin = value == "yes",
                _ => {}
            }
        }
    }

    /// The programs of a directory, by name; only those that `WMTRACE_TEST_ONLY` wants.
    pub(crate) fn all(directory: &str) -> Vec<Source> {
        let only = std::env::var("WMTRACE_TEST_ONLY").unwrap_or_default();
        let mut sources = Source::unfiltered(directory);
        sources.retain(|source| source.name.contains(&only));
        sources
    }

    fn unfiltered(directory: &str) -> Vec<Source> {
        let entries = std::fs::read_dir(targets().join("programs").join(directory)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.map(|name| format!("{directory}/{name}")).collect();
        names.sort();
        names.iter().map(|name| Source::named(name)).collect()
    }

    pub(crate) fn has(&self, variant: Variant) -> bool {
        variant == Variant::Right || !self.expect.is_empty()
    }
}

/// Calls `check` for each, and fails with all complaints at the end.
pub(crate) fn for_each<T>(
    items: &[T],
    name: impl Fn(&T) -> String,
    check: impl Fn(&T) -> Result<(), String>,
) {
    let complaints: Vec<_> = items
        .iter()
        .filter_map(|item| check(item).err().map(|complaint| format!("{}: {complaint}", name(item))))
        .collect();
    assert!(
        complaints.is_empty(),
        "{} of {} failed:\n{}",
        complaints.len(),
        items.len(),
        complaints.join("\n")
    );
}

/// Three kinds of mistakes that would make a test pass in silence: no header, a kind that does not exist, and a
/// wrong variant that is none.
#[test]
fn headers_say_what_to_expect() {
    for directory in ["verdicts", "patterns", "odd", "allocators"] {
        let sources = Source::unfiltered(directory);
        assert!(!sources.is_empty(), "{directory}");
        for source in sources {
            let name = &source.name;
            assert!(source.text.contains("\n// Expect: "), "{name} has no `Expect`");
            for kind in &source.expect {
                assert!(KINDS.contains(&kind.as_str()) || kind == "clean", "{name}: no kind `{kind}`");
            }
            let switch = if source.language == Language::Rust { "(buggy)" } else { "BUGGY" };
            assert_eq!(source.text.contains(switch), source.has(Variant::Buggy), "{name}");
        }
    }
}

#[test]
fn every_kind_that_the_engine_can_see_has_a_program() {
    let sources = Source::unfiltered("verdicts");
    let expected: Vec<_> = sources.iter().flat_map(|source| &source.expect).collect();
    // Programs with many cases of these kinds are in `kinds`: `kinds.rs` runs them.
    let elsewhere = ["spec", "lock_misuse", "join_misuse", "use_after_return", "allocation_race"];
    for kind in KINDS.iter().filter(|kind| !elsewhere.contains(kind)) {
        assert!(expected.iter().any(|expected| expected == kind), "{kind}");
    }
}
