//! All source files of a program: which names have fences behind them.
//!
//! A fence that compiles to nothing may be hidden behind a name: a macro's, or that of a function that was inlined and
//! left nothing either. So names are followed, by their text alone: `rmb` stands for everything that is called so. In
//! Rust a method's name says little (`push`), so a function of another crate counts only if it is *thin*: nothing is
//! left of it but its fences. One that does more leaves a trace in debug information, which then has its own text.
//!
//! A name that no file defines belongs to another library, or to the compiler's own, if all files could be read and a
//! header of the system's has it. Else it may be anything: a macro of a file that is not there, or of an option (`-D`).

use super::compiled::Macros;
use super::items::{Definition, Effects, Found, Include, Items, Macro, Operation, Place, is_keyword};
use super::lex::{Language, Tokens};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, OnceLock};
use wmtrace_model::order::Order;

/// The most files, and bytes of them, that are read of one program: beyond them, names may be anything.
const MAX_FILES: usize = 20_000;
const MAX_BYTES: usize = 256 << 20;

/// The most headers of the system, and bytes of them, that are looked through.
const MAX_HEADERS: usize = 2_000;
const MAX_HEADER_BYTES: usize = 64 << 20;

/// Where compilers of Debian have headers of their own.
fn headers_of_compilers(name: &str) -> impl Iterator<Item = String> {
    (9..=20).flat_map(move |version| {
        [
            format!("/usr/lib/gcc/x86_64-linux-gnu/{version}/include/{name}"),
            format!("/usr/include/c++/{version}/{name}"),
            format!("/usr/include/x86_64-linux-gnu/c++/{version}/{name}"),
            format!("/usr/lib/clang/{version}/include/{name}"),
        ]
    })
}

/// The name of the macros that options define, among the files.
const OPTIONS: &str = "<options>";

/// Reads a file's text.
pub(crate) type Open<'a> = dyn FnMut(&str) -> Option<String> + 'a;

/// What is known of the names of a program in one language.
#[derive(Default)]
pub(crate) struct Names {
    files: BTreeMap<String, Arc<Items>>,
    /// What cannot be read, of what was asked for.
    missing: BTreeSet<String>,
    /// Fences behind a name, wherever it is used.
    everywhere: HashMap<String, Effects>,
    /// The same within one crate.
    within: HashMap<(String, String), Effects>,
    /// Everything that has a definition.
    defined: HashSet<String>,
    /// The names of macros.
    macro_names: HashSet<String>,
    /// The macros that are the same wherever they are defined.
    macros: HashMap<String, Macro>,
    /// What the text calls, and neither the program's files nor the system's headers mention anywhere else.
    undefined: HashSet<String>,
    /// The names of C's declarations that mention an atomic type.
    atomic: OnceLock<HashSet<String>>,
    /// Whether some exchange is weak enough to become a store.
    exchanges: OnceLock<bool>,
}

impl Names {
    /// Reads the files that debug information names, and those that they lead to.
    pub(crate) fn new(
        language: Language,
        listed: &BTreeSet<String>,
        directories: &BTreeSet<String>,
        macros: &Macros,
        open: &mut Open<'_>,
    ) -> Names {
        let mut names = Names::default();
        let mut bytes = 0;
        let mut queue: Vec<String> = listed.iter().filter(|path| !is_library(path)).cloned().collect();
        let roots: Vec<String> = match language {
            Language::C => Vec::new(),
            // A module that left no code is reached from its crate's root.
            Language::Rust => queue.iter().flat_map(|path| roots_of(path)).collect(),
        };
        let mut asked: HashSet<String> = queue.iter().cloned().collect();
        let optional: HashSet<String> = roots.into_iter().filter(|path| asked.insert(path.clone())).collect();
        queue.extend(optional.iter().cloned());
        while let Some(path) = queue.pop() {
            let room = names.files.len() < MAX_FILES && bytes < MAX_BYTES;
            let Some(text) = room.then(|| open(&path)).flatten() else {
                if !optional.contains(&path) {
                    names.missing.insert(path);
                }
                continue;
            };
            bytes += text.len();
            let items = Items::new(text, language, macros);
            let mut follow = |candidates: Vec<String>, name: &str, missing: &mut BTreeSet<String>| {
                if candidates.iter().any(|path| asked.contains(path)) {
                    return;
                }
                match candidates.iter().find(|path| open(path).is_some()) {
                    Some(found) => {
                        asked.insert(found.clone());
                        queue.push(found.clone());
                    }
                    None => {
                        missing.insert(name.to_owned());
                    }
                }
            };
            for include in &items.includes {
                if is_standard(&include.path) {
                    continue;
                }
                let places = include_places(&path, &include.path, include.quoted, directories);
                if !places.iter().any(|place| is_library(place) && listed.contains(place)) {
                    follow(places, &include.path, &mut names.missing);
                }
            }
            for module in &items.modules {
                // A module whose file is not there was not compiled, or has another name.
                follow(module_places(&path, module), module, &mut BTreeSet::new());
            }
            names.files.insert(path, Arc::new(items));
        }
        if language == Language::C && macros.complete {
            names.define_by_options(macros);
        }
        names.defined =
            names.files.values().flat_map(|items| &items.definitions).map(|it| it.name.clone()).collect();
        let macros_of = |items: &Arc<Items>| {
            let names = items.definitions.iter().filter(|it| it.is_macro).map(|it| it.name.clone());
            names.collect::<Vec<_>>()
        };
        names.macro_names = names.files.values().flat_map(macros_of).collect();
        names.spread(language);
        if language == Language::C && !macros.complete && names.missing.is_empty() {
            names.find_undefined(listed, directories, open);
        }
        if names.missing.is_empty() {
            names.find_macros(macros);
        }
        names
    }

    /// Macros that debug information has (`-g3`), and no file: options of the compiler define them (`-D`).
    fn define_by_options(&mut self, macros: &Macros) {
        let by_file: HashSet<&str> = self
            .files
            .values()
            .flat_map(|items| &items.definitions)
            .filter(|it| it.is_macro)
            .map(|it| it.name.as_str())
            .collect();
        let mut text = String::new();
        let own = |name: &String| !name.starts_with('_') && !by_file.contains(name.as_str());
        for (name, bodies) in macros.bodies.iter().filter(|(name, _)| own(name)) {
            for body in bodies.iter().filter(|body| !body.contains('\n')) {
                let space = if body.starts_with('(') { "" } else { " " };
                text += &format!("#define {name}{space}{body}\n");
            }
        }
        self.files.insert(OPTIONS.to_owned(), Arc::new(Items::new(text, Language::C, macros)));
    }

    /// Finds what the text calls and nobody defines: a macro that an option of the compiler's defines (`-D`) is such a
    /// name, and may be a fence. The system's headers are looked through until none is left.
    fn find_undefined(
        &mut self,
        listed: &BTreeSet<String>,
        directories: &BTreeSet<String>,
        open: &mut Open<'_>,
    ) {
        let (mut undefined, mut declared) = (HashSet::new(), HashSet::new());
        for items in self.files.values() {
            let all = Place::Code(0..items.tokens.code.len());
            for (token, found) in items.contents(&all) {
                let name = items.tokens.text(token);
                // A variable, which may point to a function.
                if found == (Found::Name { called: false }) && !declared.contains(name) {
                    declared.insert(name.to_owned());
                }
                // Reserved names are the compiler's.
                let harmless = is_keyword(name) || name.starts_with("__") || self.defined.contains(name);
                if found == (Found::Name { called: true }) && !harmless && !undefined.contains(name) {
                    undefined.insert(name.to_owned());
                }
            }
        }
        undefined.retain(|name| !declared.contains(name));
        let includes = self.files.iter().flat_map(|(path, items)| {
            let places = |include: &Include| include_places(path, &include.path, include.quoted, directories);
            items.includes.iter().map(places).collect::<Vec<_>>()
        });
        let listed = listed.iter().filter(|path| is_library(path)).map(|path| vec![path.clone()]);
        let mut queue: Vec<Vec<String>> = includes.chain(listed).collect();
        let mut asked: HashSet<String> = self.files.keys().cloned().collect();
        let (mut files, mut bytes) = (0, 0);
        while let Some(places) = queue.pop() {
            if undefined.is_empty() || files > MAX_HEADERS || bytes > MAX_HEADER_BYTES {
                break;
            }
            let name = places.last().and_then(|it| it.strip_prefix("/usr/local/include/"));
            let compilers = name.into_iter().flat_map(headers_of_compilers);
            for place in places.iter().cloned().chain(compilers) {
                if !asked.insert(place.clone()) {
                    break;
                }
                let Some(text) = open(&place) else { continue };
                files += 1;
                bytes += text.len();
                let lines = text.clone();
                let tokens = Tokens::new(text, Language::C);
                for token in tokens.code.iter().chain(&tokens.preprocessor) {
                    undefined.remove(tokens.text(token));
                }
                for line in lines.lines().filter_map(|line| line.trim_start().strip_prefix('#')) {
                    let Some(path) = line.trim_start().strip_prefix("include") else { continue };
                    let path = path.trim_start_matches("_next").trim();
                    let Some(path) = path.get(1..).and_then(|path| path.split(['>', '"']).next()) else {
                        continue;
                    };
                    queue.push(include_places(&place, path, true, directories));
                }
                break;
            }
        }
        self.undefined = undefined;
    }

    /// Whether a name is called in the text, and nobody defines it.
    pub(crate) fn is_undefined(&self, name: &str) -> bool {
        self.undefined.contains(name)
    }

    /// Whether a declaration of C that mentions an atomic type has this name in it.
    pub(crate) fn may_be_atomic(&self, name: &str) -> bool {
        let names = self.atomic.get_or_init(|| {
            let (mut names, mut types): (HashSet<String>, HashSet<String>) = Default::default();
            loop {
                let before = types.len();
                let found: Vec<_> =
                    self.files.values().flat_map(|items| items.atomic_names(&types)).collect();
                for (name, is_type) in found {
                    if is_type {
                        types.insert(name.clone());
                    }
                    names.insert(name);
                }
                if types.len() == before {
                    return names;
                }
            }
        });
        names.contains(name)
    }

    /// Whether the text has, or may have, an exchange that neither acquires nor is sequentially consistent.
    pub(crate) fn may_exchange_weakly(&self) -> bool {
        let is_exchange = |name: &str| {
            let name = name.strip_suffix("_explicit").or_else(|| name.strip_suffix("_n")).unwrap_or(name);
            name == "swap" || name.ends_with("exchange") && !name.contains("compare")
        };
        let is_weak = |operation: &Operation<'_>| {
            is_exchange(operation.name) && matches!(operation.order, Some(Order::Relaxed | Order::Release))
        };
        *self.exchanges.get_or_init(|| {
            let in_file =
                |items: &Arc<Items>| items.operations(0..items.tokens.code.len()).iter().any(is_weak);
            !self.missing.is_empty() || self.files.values().any(in_file)
        })
    }

    /// Finds the macros of which it is certain what they stand for: one that depends on a condition only if debug
    /// information has it (`-g3`).
    fn find_macros(&mut self, compiled: &Macros) {
        let mut found: HashMap<String, Option<Macro>> = HashMap::new();
        for items in self.files.values() {
            for definition in items.definitions.iter().filter(|definition| definition.is_macro) {
                let expansion = items.expansion(definition).filter(|expansion| {
                    !definition.conditional || compiled.is_only(&definition.name, &expansion.body)
                });
                let known = found.entry(definition.name.clone()).or_insert_with(|| expansion.clone());
                if *known != expansion {
                    *known = None;
                }
            }
        }
        self.macros = found.into_iter().filter_map(|(name, expansion)| Some((name, expansion?))).collect();
    }

    /// What a macro stands for, if that is certain.
    pub(crate) fn expansion(&self, name: &str) -> Option<&Macro> {
        self.macros.get(name)
    }

    /// What is known of a file.
    pub(crate) fn file(&self, path: &str) -> Option<&Arc<Items>> {
        self.files.get(path)
    }

    /// What is known of a file of a compiler's library, if it is the one that has the fence in it.
    pub(crate) fn library(&self, path: &str, open: impl FnOnce() -> Option<String>) -> Option<Arc<Items>> {
        let is_it =
            path.ends_with("/bits/atomic_base.h") || path.contains("/c++/") && path.ends_with("fence.h");
        let text = is_it.then(open).flatten()?;
        Some(Arc::new(Items::new(text, Language::C, &Macros::default())))
    }

    /// The first file that could not be read.
    pub(crate) fn missing(&self) -> Option<&str> {
        self.missing.first().map(String::as_str)
    }

    /// Follows fences from what they are in to what mentions it.
    fn spread(&mut self, language: Language) {
        let mut known: Vec<Effects> = Vec::new();
        let files: Vec<(String, Arc<Items>)> =
            self.files.iter().map(|(path, items)| (crate_of(path, language), items.clone())).collect();
        let all =
            || files.iter().flat_map(|(of, items)| items.definitions.iter().map(move |it| (of, items, it)));
        loop {
            let mut changed = false;
            for (number, (of, items, definition)) in all().enumerate() {
                let found = self.effects(of, items, &definition.place);
                if known.len() <= number {
                    known.push(Effects::default());
                }
                if known[number] | found == known[number] {
                    continue;
                }
                known[number] |= found;
                changed = true;
                let wide = language == Language::C || definition.is_macro || is_thin(items, definition);
                if wide {
                    *self.everywhere.entry(definition.name.clone()).or_default() |= found;
                } else {
                    *self.within.entry((of.clone(), definition.name.clone())).or_default() |= found;
                }
            }
            if !changed {
                break;
            }
        }
    }

    /// The effects behind a name, used in a crate.
    fn behind(&self, of: &str, name: &str) -> Effects {
        if self.everywhere.is_empty() && self.within.is_empty() {
            return Effects::default();
        }
        let everywhere = self.everywhere.get(name).copied().unwrap_or_default();
        let within = self.within.get(&(of.to_owned(), name.to_owned())).copied().unwrap_or_default();
        everywhere | within
    }

    /// What the tokens of a place may do, as far as names have definitions.
    fn effects(&self, of: &str, items: &Items, place: &Place) -> Effects {
        let mut sum = Effects::default();
        for (token, found) in items.contents(place) {
            match found {
                Found::Fence(effects) | Found::Barrier(effects) => sum |= effects,
                Found::Name { .. } => sum |= self.behind(of, items.tokens.text(token)),
            }
            if sum == Effects::BOTH {
                break;
            }
        }
        sum
    }

    /// What some tokens of a file's code may do; `known` says of a name that it is harmless although no file has it.
    pub(crate) fn effects_of(
        &self,
        path: &str,
        language: Language,
        place: &Place,
        known: impl Fn(&str) -> bool,
    ) -> Effects {
        let Some(items) = self.files.get(path) else { return Effects::BOTH };
        let of = crate_of(path, language);
        let sum = self.effects(&of, items, place);
        if sum == Effects::BOTH {
            return sum;
        }
        // Something could not be read: a name without a definition may be a macro of that file. Or an option of the
        // compiler's defines it.
        let unknown = items.contents(place).any(|(token, found)| {
            let name = items.tokens.text(token);
            let may_be = || match self.missing.is_empty() {
                true => self.undefined.contains(name),
                false => !is_keyword(name) && !self.defined.contains(name),
            };
            matches!(found, Found::Name { called: true }) && may_be() && !known(name)
        });
        if unknown { Effects::BOTH } else { sum }
    }

    /// The effects of the macros that a name may be, with all that they mention.
    pub(crate) fn of_macro(&self, name: &str) -> Option<Effects> {
        self.is_macro(name).then(|| self.everywhere.get(name).copied().unwrap_or_default())
    }

    /// Whether a name is that of a macro.
    pub(crate) fn is_macro(&self, name: &str) -> bool {
        self.macro_names.contains(name)
    }

    /// Whether a name has a definition.
    pub(crate) fn defines(&self, name: &str) -> bool {
        self.defined.contains(name)
    }
}

/// Whether nothing is left of a function but its fences: it accesses no memory and calls nothing else.
fn is_thin(items: &Items, definition: &Definition) -> bool {
    let Place::Code(range) = &definition.place else { return true };
    let text = |at: usize| items.tokens.code.get(at).map_or("", |token| items.tokens.text(token));
    // The parameters and the result's type are none of what it does.
    let open = range.clone().find(|&at| text(at) == "{").unwrap_or(range.start);
    !(open..range.end).any(|at| match text(at) {
        "." | "[" => true,
        "=" => !matches!(text(at + 1), "=" | ">") && !matches!(text(at - 1), "=" | "!" | "<" | ">"),
        _ => false,
    })
}

/// Files of compilers' own libraries. Their fences are known: they have none that matter without an instruction, but
/// those of Rust's `Arc`, which the order of the count stands for.
pub(crate) fn is_library(path: &str) -> bool {
    let rust = ["/rustc/", "/rustlib/src/", "/rust/deps/", "/usr/src/rustc-"];
    let c = ["/include/c++/", "/lib/gcc/", "/lib/clang/", "/bits/", "/sys/"];
    rust.iter().any(|part| path.contains(part))
        || c.iter().any(|part| path.contains(part)) && path.starts_with("/usr/")
        // Of a cross compiler, too: `/usr/aarch64-linux-gnu/include/stdio.h`.
        || path.starts_with("/usr/") && path.split_once("/include/").is_some_and(|(_, header)| is_standard(header))
        || path.starts_with("/usr/lib/llvm-")
        // `<built-in>`, `<stdin>`: no file at all.
        || path.rsplit('/').next().is_some_and(|name| name.starts_with('<'))
}

/// Headers of the C library and the languages.
fn is_standard(header: &str) -> bool {
    const NAMES: &str = " aio alloca arpa/inet assert byteswap complex cpio ctype dirent dlfcn elf endian err errno \
        error execinfo fcntl features fenv float fnmatch fts getopt glob grp iconv immintrin emmintrin xmmintrin \
        x86intrin smmintrin tmmintrin nmmintrin pmmintrin wmmintrin cpuid inttypes iso646 langinfo libgen libintl \
        limits link linux/futex linux/membarrier linux/types linux/unistd locale malloc math memory mqueue net/if \
        netdb netinet/in netinet/tcp nl_types omp poll printf pthread pwd regex sched search semaphore setjmp \
        signal spawn stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string strings \
        sysexits syslog termios tgmath threads time uchar ucontext unistd utime values wait wchar wctype ";
    let header = header.trim_start_matches("x86_64-linux-gnu/");
    if let Some(name) = header.strip_suffix(".h") {
        return NAMES.contains(&format!(" {name} ")) || name.starts_with("sys/") || name.starts_with("bits/");
    }
    // C++'s have no suffix; one with a directory is a project's, or an extension's.
    !header.contains('.') && (!header.contains('/') || header.starts_with("experimental/"))
}

/// Where an included file may be.
fn include_places(from: &str, path: &str, quoted: bool, directories: &BTreeSet<String>) -> Vec<String> {
    let mut places = Vec::new();
    if path.starts_with('/') {
        return vec![path.to_owned()];
    }
    let beside = from.rsplit_once('/').map_or("", |(directory, _)| directory);
    if quoted {
        places.push(format!("{beside}/{path}"));
    }
    places.extend(directories.iter().map(|directory| format!("{}/{path}", directory.trim_end_matches('/'))));
    // A directory above the file: `-I.` with `#include <project/part/header.h>`.
    let mut above = beside;
    while let Some((directory, _)) = above.rsplit_once('/') {
        places.push(format!("{directory}/{path}"));
        places.push(format!("{directory}/include/{path}"));
        above = directory;
    }
    places.extend(
        ["/usr/include/", "/usr/include/x86_64-linux-gnu/", "/usr/local/include/"]
            .map(|root| format!("{root}{path}")),
    );
    places
}

/// Where a module of Rust that is declared in a file may be.
fn module_places(from: &str, module: &str) -> Vec<String> {
    let (directory, file) = from.rsplit_once('/').unwrap_or(("", from));
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    let below = match stem {
        "lib" | "main" | "mod" => directory.to_owned(),
        _ => format!("{directory}/{stem}"),
    };
    let mut places = vec![format!("{below}/{module}.rs"), format!("{below}/{module}/mod.rs")];
    // Roots have any name (`tests/a.rs`): their modules are beside them.
    places.extend([format!("{directory}/{module}.rs"), format!("{directory}/{module}/mod.rs")]);
    places
}

/// Where the root of a file's crate may be.
fn roots_of(path: &str) -> Vec<String> {
    let Some(at) = path.rfind("/src/") else { return Vec::new() };
    ["lib.rs", "main.rs"].map(|name| format!("{}/src/{name}", &path[..at])).into()
}

/// What a file belongs to: in C everything is one.
fn crate_of(path: &str, language: Language) -> String {
    match language {
        Language::C => String::new(),
        Language::Rust => {
            let end = path.rfind("/src/").or_else(|| path.rfind('/')).unwrap_or(0);
            path[..end].to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(language: Language, files: &[(&str, &str)], listed: &[&str]) -> Names {
        let listed = listed.iter().map(|path| (*path).to_owned()).collect();
        let mut open =
            |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
        Names::new(language, &listed, &BTreeSet::new(), &Macros::default(), &mut open)
    }

    const ACQUIRE: Effects = Effects { acquire: true, release: false };
    const RELEASE: Effects = Effects { acquire: false, release: true };

    fn of(names: &Names, path: &str, language: Language) -> Effects {
        let items = names.file(path).expect("it was read");
        let place = Place::Code(0..items.tokens.code.len());
        names.effects_of(path, language, &place, |name| name == "printf")
    }

    #[test]
    fn names_lead_to_fences_through_headers() {
        let files = [
            ("/p/a.c", "#include \"b.h\"\n#include <stdio.h>\nint main(void) { SYNC(); printf(1); }"),
            ("/p/b.h", "#include \"c/d.h\"\n#define SYNC() rmb()"),
            ("/p/c/d.h", "static inline void rmb(void) { atomic_thread_fence(memory_order_acquire); }"),
        ];
        let all = names(Language::C, &files, &["/p/a.c"]);
        assert_eq!(all.missing(), None);
        assert_eq!(of(&all, "/p/a.c", Language::C), ACQUIRE);
        assert_eq!(all.of_macro("SYNC"), Some(ACQUIRE));
        let some = names(Language::C, &files[..2], &["/p/a.c"]);
        assert_eq!(some.missing(), Some("c/d.h"));
        assert_eq!(of(&some, "/p/a.c", Language::C), Effects::default(), "both names are known");
        let one = names(Language::C, &files[..1], &["/p/a.c"]);
        assert_eq!(of(&one, "/p/a.c", Language::C), Effects::BOTH, "SYNC may be anything");
    }

    #[test]
    fn crates_keep_their_methods_and_share_what_is_thin() {
        let files = [
            ("/a/src/lib.rs", "mod q; pub fn wmb() { fence(Release) }"),
            (
                "/a/src/q.rs",
                "impl Q { fn push(&self) { self.x.store(1); fence(Acquire); } fn two(&self) { self.push() } }",
            ),
            ("/b/src/main.rs", "fn main() { v.push(1); }"),
            ("/b/src/t.rs", "fn t() { a::wmb(); }"),
        ];
        let all = names(Language::Rust, &files, &["/a/src/q.rs", "/b/src/main.rs", "/b/src/t.rs"]);
        assert_eq!(of(&all, "/b/src/main.rs", Language::Rust), Effects::default());
        assert_eq!(of(&all, "/b/src/t.rs", Language::Rust), RELEASE);
        assert_eq!(of(&all, "/a/src/q.rs", Language::Rust), ACQUIRE);
    }

    #[test]
    fn headers_of_compilers_are_left_alone() {
        for header in ["stdio.h", "vector", "sys/types.h", "pthread.h"] {
            assert!(is_standard(header), "{header}");
        }
        for header in ["boost/atomic.hpp", "ck_pr.h", "urcu/system.h", "a.h"] {
            assert!(!is_standard(header), "{header}");
        }
        assert!(is_library("/usr/include/c++/12/bits/shared_ptr_base.h"));
        assert!(is_library("/usr/src/rustc-1.96.0/library/alloc/src/sync.rs"));
        assert!(is_library("/usr/aarch64-linux-gnu/include/stdio.h"));
        assert!(!is_library("/usr/include/boost/atomic/fences.hpp"));
    }
}
