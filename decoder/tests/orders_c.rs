//! C and C++ without inlined atomic functions: `_Atomic` types, builtins, source text; and what is plain, unsure,
//! or on the stack.

use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory, OpAccess};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use wmtrace_decoder::debug::{Debug, DebugFile, Files};
use wmtrace_decoder::image::Image;
use wmtrace_decoder::orders::file::OrdersFile;
use wmtrace_decoder::orders::{Atomic, Options, Orders, Source};
use wmtrace_model::order::Order;

#[path = "orders_suite/effects.rs"]
mod effects;

struct Host;

impl Files for Host {
    fn open(&self, file: DebugFile<'_>) -> Option<Arc<[u8]>> {
        match file {
            DebugFile::Source(path) => std::fs::read(path).ok().map(Arc::from),
            DebugFile::BuildId(_) | DebugFile::DebugLink { .. } | DebugFile::Dwo { .. } | DebugFile::Dwp => {
                None
            }
        }
    }
}

/// (order, who says so, atomic, whether it writes) of each access that is not to the stack, by function.
type Found = Vec<(Order, Source, Atomic)>;

fn build(compiler: &str, flags: &[&str], text: &str, name: &str) -> Option<PathBuf> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("orders_c");
    std::fs::create_dir_all(&directory).expect("the test's directory");
    let source = directory.join(name);
    let output = directory.join(format!("{compiler}-{name}.bin"));
    std::fs::write(&source, text).expect("source");
    let status = Command::new(compiler).arg("-g").args(flags).arg(&source).arg("-o").arg(&output).status();
    match status {
        Ok(status) => assert!(status.success(), "{compiler} {name}"),
        Err(_) => {
            println!("skipped: there is no {compiler} here");
            return None;
        }
    }
    Some(output)
}

fn found(path: &Path, function: &str, options: Options) -> Found {
    let image = Image::parse(Arc::from(std::fs::read(path).expect("just built"))).expect("an image");
    let debug = Debug::new(&image, Arc::new(Host));
    let orders = Orders::new(&image, &debug, options);
    let symbol = image.symbols().iter().find(|symbol| symbol.name == function).expect("the function");
    let bytes = &image.code_at(symbol.addr).expect("code")[..symbol.size as usize];
    let mut factory = InstructionInfoFactory::new();
    let mut found = Vec::new();
    for instruction in &mut Decoder::with_ip(64, bytes, symbol.addr, DecoderOptions::NONE) {
        let used = factory.info(&instruction).used_memory();
        if used.is_empty() || used.iter().all(|memory| memory.access() == OpAccess::NoMemAccess) {
            continue;
        }
        let pc = instruction.ip();
        let effect = effects::effect(pc, image.code_at(pc).expect("code")).expect("an effect");
        for (access, info) in effect.accesses.iter().zip(orders.at(pc, &effect).accesses) {
            if access.address.base.map(|reg| reg.0) != Some(4) {
                found.push((info.order.expect("known"), info.from, info.atomic));
            }
        }
    }
    found
}

const C: &str = "#include <stdatomic.h>
#define READ_ONCE(x) (*(volatile int *)&(x))
_Atomic int flag; int plain; volatile int spun;
struct node { _Atomic int state; int value; };
int load_flag(void) { return flag; }
void store_plain(int v) { plain = v; }
int load_explicit(atomic_int *p) { return atomic_load_explicit(p, memory_order_acquire); }
void store_builtin(int *p, int v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
int add_builtin(int *p) { return __atomic_fetch_add(p, 1, __ATOMIC_RELAXED); }
int add_sync(int *p) { return __sync_fetch_and_add(p, 1); }
int load_member(struct node *n) { return n->state; }
int load_value(struct node *n) { return n->value; }
int load_once(int *p) { return READ_ONCE(*p); }
int load_volatile(void) { return spun; }
int load_unstated(int *p, int mo) { return __atomic_load_n(p, mo ? __ATOMIC_RELAXED : __ATOMIC_ACQUIRE); }
void publish(int *p, int *q) {
    *p = 1;
    atomic_thread_fence(memory_order_release);
    *q = 1;
}
int main(void) { return 0; }
";

#[test]
fn c_by_types_and_source_text() {
    for compiler in ["gcc", "clang"] {
        let Some(path) = build(compiler, &["-O1", "-std=c11"], C, "atomics.c") else { continue };
        let one = |function: &str| {
            let found = found(&path, function, Options::default());
            assert_eq!(found.len(), 1, "{compiler} {function}: {found:?}");
            found[0]
        };
        assert_eq!(one("load_flag"), (Order::SeqCst, Source::Text, Atomic::Yes), "{compiler}");
        assert_eq!(one("store_plain"), (Order::Na, Source::Text, Atomic::No), "{compiler}");
        assert_eq!(one("load_explicit"), (Order::Acquire, Source::Text, Atomic::Yes), "{compiler}");
        assert_eq!(one("store_builtin"), (Order::Release, Source::Text, Atomic::Yes), "{compiler}");
        assert_eq!(one("add_builtin"), (Order::Relaxed, Source::Text, Atomic::Yes), "{compiler}");
        assert_eq!(one("add_sync"), (Order::SeqCst, Source::Text, Atomic::Yes), "{compiler}");
        assert_eq!(one("load_value"), (Order::Na, Source::Text, Atomic::No), "{compiler}");
        // g++'s column is that of the arrow: then the member is not sure, and never plain.
        assert_ne!(one("load_member").2, Atomic::No, "{compiler}");
        assert_eq!(one("load_once").2, Atomic::Unsure, "{compiler}");
        assert_eq!(one("load_volatile").2, Atomic::Unsure, "{compiler}");
        let (_, from, atomic) = one("load_unstated");
        assert_eq!((from, atomic), (Source::Policy, Atomic::Yes), "{compiler}: atomic, order unknown");
    }
}

/// Forms of C that are not an ordinary load or store of C11: what each counts as (docs/MODELS.md).
const FORMS: &str = "#include <stdatomic.h>
#define READ_ONCE(x) (*(volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))
_Atomic int flag; int word; double payload; char locked;
int load_consumed(void) { return atomic_load_explicit(&flag, memory_order_consume); }
int load_killed(void) { return kill_dependency(atomic_load_explicit(&flag, memory_order_consume)); }
int read_once(void) { return READ_ONCE(word); }
void write_once(int v) { WRITE_ONCE(word, v); }
void unlock(void) { __sync_lock_release(&locked); }
int try_lock(void) { return __sync_lock_test_and_set(&locked, 1); }
int by_assembly(int *p) { int v; __asm__ volatile(\"mov %1, %0\" : \"=r\"(v) : \"m\"(*p) : \"memory\"); return v; }
void store_fenced(int v) { __atomic_store_n(&word, v, __ATOMIC_RELAXED); __atomic_thread_fence(__ATOMIC_SEQ_CST); }
int main(void) { return 0; }
";

#[test]
fn forms_of_c() {
    for compiler in ["gcc", "clang", "clang-19"] {
        for level in ["-O1", "-O2"] {
            let Some(path) = build(compiler, &[level, "-std=gnu11"], FORMS, "forms.c") else { continue };
            let what = format!("{compiler} {level}");
            let one = |function: &str| {
                let found = found(&path, function, Options::default());
                assert_eq!(found.len(), 1, "{what} {function}: {found:?}");
                found[0]
            };
            assert_eq!(one("load_consumed"), (Order::Acquire, Source::Text, Atomic::Yes), "{what}");
            // gcc says that it is where the macro is.
            assert_ne!(one("load_killed").2, Atomic::No, "{what}");
            assert_eq!(one("read_once").2, Atomic::Unsure, "{what}");
            assert_eq!(one("write_once").2, Atomic::Unsure, "{what}");
            assert_eq!(one("by_assembly").2, Atomic::Unsure, "{what}");
            assert_eq!(one("unlock"), (Order::Release, Source::Text, Atomic::Yes), "{what}");
            assert_eq!(one("try_lock"), (Order::Acquire, Source::Text, Atomic::Yes), "{what}");
            assert_eq!(one("store_fenced"), (Order::Relaxed, Source::Text, Atomic::Yes), "{what}");
        }
    }
}

/// A text that claims a seq_cst store, and what was compiled: a bare MOV, which cannot be one.
#[test]
fn a_store_without_a_barrier_is_not_seq_cst() {
    const MEANT: &str = "int x; void store(int v) { __atomic_store_n(&x, v, __ATOMIC_RELAXED); } int main(void) { return 0; }";
    const FENCED: &str = "int x; void store(int v) { __atomic_store_n(&x, v, __ATOMIC_RELAXED); __atomic_thread_fence(__ATOMIC_SEQ_CST); } int main(void) { return 0; }";
    for compiler in ["gcc", "clang", "clang-19"] {
        for (text, name, expected) in [
            (MEANT, "meant.c", (Source::Policy, Atomic::Unsure)),
            (FENCED, "fenced.c", (Source::Text, Atomic::Yes)),
        ] {
            let Some(path) = build(compiler, &["-O2"], text, name) else { continue };
            // As if a macro that was not seen had made it relaxed.
            let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("orders_c").join(name);
            std::fs::write(source, text.replacen("RELAXED", "SEQ_CST", 1)).expect("source");
            let (order, from, atomic) = found(&path, "store", Options::default())[0];
            assert_eq!((from, atomic), expected, "{compiler} {name}");
            assert_eq!(order == Order::SeqCst, from == Source::Text, "{compiler} {name}");
        }
    }
}

/// In other languages than C and C++ nothing is plain because a statement looks like it. The same program, whose unit
/// says that it is written in Go.
#[test]
fn another_language_has_other_rules() {
    let flags = ["-O1", "-std=c11", "-S", "-dA"];
    let Some(assembly) = build("gcc", &flags, C, "other.c") else { return };
    let text = std::fs::read_to_string(assembly).expect("assembly");
    for (language, expected) in [(None, Atomic::No), (Some("0x16"), Atomic::Unsure)] {
        let mut stated = 0;
        let line = |line: &str| match (language, line.split_once("# DW_AT_language")) {
            (Some(language), Some(_)) => {
                stated += 1;
                format!("\t.byte {language}\n")
            }
            _ => format!("{line}\n"),
        };
        let text: String = text.lines().map(line).collect();
        assert_eq!(stated, usize::from(language.is_some()));
        let path = build("gcc", &[], &text, "other-language.s").expect("gcc is here");
        for function in ["store_plain", "load_value"] {
            let found = found(&path, function, Options::default());
            assert!(matches!(found[..], [(_, _, atomic)] if atomic == expected), "{function}: {found:?}");
        }
        let (order, _, atomic) = found(&path, "add_sync", Options::default())[0];
        assert_eq!((order, atomic), (Order::SeqCst, Atomic::Yes));
    }
}

/// Several operations on one line: columns tell them apart, unless they are about the same object.
#[test]
fn several_operations_on_a_line() {
    const TEXT: &str = "#include <stdatomic.h>
_Atomic int x, y;
int first(void) { return atomic_load_explicit(&x, memory_order_relaxed); } int second(void) { return atomic_load_explicit(&y, memory_order_acquire); }
void both(void) { atomic_store_explicit(&x, 1, memory_order_relaxed); atomic_store_explicit(&y, 1, memory_order_release); }
int add(void) { return atomic_fetch_add_explicit(&x, 1, memory_order_relaxed) + atomic_fetch_add_explicit(&y, 1, memory_order_acquire); }
void same(int c) { if (c) atomic_store_explicit(&x, 1, memory_order_relaxed); else atomic_store_explicit(&x, 1, memory_order_release); }
int main(void) { return 0; }
";
    for compiler in ["gcc", "clang"] {
        for level in ["-O0", "-O1", "-O2"] {
            let Some(path) = build(compiler, &[level, "-std=c11"], TEXT, "line.c") else { continue };
            let orders = |function: &str| -> Vec<Order> {
                let found = found(&path, function, Options::default());
                let atomic = found.into_iter().filter(|it| it.2 == Atomic::Yes && it.1 == Source::Text);
                atomic.map(|it| it.0).collect()
            };
            let what = format!("{compiler} {level}");
            assert_eq!(orders("first"), [Order::Relaxed], "{what}");
            assert_eq!(orders("second"), [Order::Acquire], "{what}");
            assert_eq!(orders("both"), [Order::Relaxed, Order::Release], "{what}");
            assert_eq!(orders("add"), [Order::Relaxed, Order::Acquire], "{what}");
            // Without optimisation there is an instruction for each.
            if level != "-O0" {
                assert_eq!(orders("same"), [], "{what}: it may be both");
            }
        }
    }
}

#[test]
fn a_fence_of_c_without_code_is_found_by_its_text() {
    for compiler in ["gcc", "clang"] {
        let Some(path) = build(compiler, &["-O2", "-std=c11"], C, "fence.c") else { continue };
        let image = Image::parse(Arc::from(std::fs::read(&path).expect("just built"))).expect("an image");
        let debug = Debug::new(&image, Arc::new(Host));
        let found = Orders::new(&image, &debug, Options::default()).empty_fences(&effects::effect);
        assert_eq!(found.len(), 1, "{compiler}: {found:?}");
        assert_eq!(found[0].info.order, Some(Order::Release), "{compiler}");
        let next =
            effects::effect(found[0].pc, image.code_at(found[0].pc).expect("code")).expect("an effect");
        // `q` comes in rsi: the fence is before its store, and after that of `p`.
        assert_eq!(next.accesses[0].address.base.map(|reg| reg.0), Some(6), "{compiler}");
    }
}

#[test]
fn the_users_file_comes_first() {
    let Some(path) = build("gcc", &["-O1", "-std=c11"], C, "user.c") else { return };
    let file = OrdersFile::parse("function load_explicit seq_cst\nuser.c:6 release").expect("a file");
    let options = Options { file: Some(Arc::new(file)), ..Options::default() };
    assert_eq!(found(&path, "load_explicit", options.clone()), [(Order::SeqCst, Source::File, Atomic::Yes)]);
    assert_eq!(found(&path, "store_plain", options.clone()), [(Order::Release, Source::File, Atomic::Yes)]);
    assert_eq!(found(&path, "load_value", options), [(Order::Na, Source::Text, Atomic::No)]);
}

const CPP: &str = "#include <atomic>
void use(std::atomic<int>*); int source();
__attribute__((noinline)) void use(std::atomic<int>* p) { asm volatile(\"\" :: \"r\"(p) : \"memory\"); }
extern \"C\" int on_stack() { std::atomic<int> x; use(&x); int r = x.load(std::memory_order_acquire); use(&x); return r; }
struct S { S(); int v; }; S::S() : v(source()) {}
int source() { static volatile int s; return s; }
extern \"C\" int guarded() { static S s; return s.v; }
int main() { return on_stack() + guarded(); }
";

#[test]
fn objects_on_the_stack_and_guards() {
    for compiler in ["g++", "clang++"] {
        let Some(path) = build(compiler, &["-O2"], CPP, "stack.cpp") else { continue };
        let image = Image::parse(Arc::from(std::fs::read(&path).expect("just built"))).expect("an image");
        let debug = Debug::new(&image, Arc::new(Host));
        let orders = Orders::new(&image, &debug, Options::default());
        let symbol = image.symbols().iter().find(|symbol| symbol.name == "on_stack").expect("the function");
        let bytes = &image.code_at(symbol.addr).expect("code")[..symbol.size as usize];
        let atomics: Vec<Order> = Decoder::with_ip(64, bytes, symbol.addr, DecoderOptions::NONE)
            .into_iter()
            .filter_map(|i| Some(orders.at(i.ip(), &effects::effect(i.ip(), image.code_at(i.ip())?)?)))
            .flat_map(|orders| orders.accesses)
            .filter(|info| info.atomic == Atomic::Yes)
            .filter_map(|info| info.order)
            .collect();
        assert_eq!(atomics, [Order::Acquire], "{compiler}: the load of the local object and nothing else");
        let guard = found(&path, "guarded", Options::default());
        assert_eq!(guard[0], (Order::Acquire, Source::Isa, Atomic::Yes), "{compiler}: {guard:?}");
    }
}

/// What a statement does not show: a macro's body, and what is declared elsewhere.
const HIDDEN: &str = "
#define load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define dereference(p) (*(int *volatile *)&(p))
struct device { int before; volatile int status; };
extern volatile int far_volatile; extern _Atomic int far_atomic; _Atomic int near; int counter;
int by_macro(int *p) { return load_acquire(p); }
int *by_other_macro(int **q) { return dereference(*q); }
int by_extern(void) { return far_volatile; }
int by_extern_atomic(void) { return far_atomic; }
int by_near(void) { return near; }
int by_member(struct device *d) { return d->status; }
int by_qualifier(struct device volatile *e) { return e->before; }
int takes(_Atomic int *p, volatile int *v) { return *p + *v; }
int plain_pointer(int *p) { return *p; }
int plain_other(int *v) { return *v; }
__attribute__((noinline)) int callee(int x) { asm volatile(\"\" : \"+r\"(x)); return x; }
int plain_call(int w) { return callee(w) + counter; /* load_acquire(x) */ }
int main(void) { return 0; }
";
const ELSEWHERE: &str = "volatile int far_volatile; _Atomic int far_atomic;";

/// A wrong \"plain\" is a false race: whatever hides an atomic access, and whatever debug information lacks, is unsure.
#[test]
fn what_a_statement_does_not_show_is_not_plain() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("orders_c");
    std::fs::create_dir_all(&directory).expect("the test's directory");
    let elsewhere = directory.join("elsewhere.c");
    std::fs::write(&elsewhere, ELSEWHERE).expect("source");
    let elsewhere = elsewhere.to_str().expect("a name");
    // In turn: all of it, types in units of their own, line tables alone, everything in one unit after the fact.
    for flags in [
        &["-O1"][..],
        &["-O1", "-fdebug-types-section"],
        &["-O1", "-g1"],
        &["-O1", "-flto", "-fno-fat-lto-objects"],
    ] {
        for compiler in ["gcc", "clang"] {
            // clang's own format needs a linker that knows it.
            if compiler == "clang" && flags.contains(&"-flto") {
                continue;
            }
            let (name, flags) = (
                format!("hidden{}.c", flags.concat()),
                [flags, &[elsewhere, "-Wl,--export-dynamic"]].concat(),
            );
            let Some(path) = build(compiler, &flags, HIDDEN, &name) else { continue };
            let image = Image::parse(Arc::from(std::fs::read(&path).expect("just built"))).expect("an image");
            let kept = |function: &&str| image.symbols().iter().any(|symbol| symbol.name == *function);
            let all = |function: &str| found(&path, function, Options::default());
            let hidden = [
                "by_macro",
                "by_other_macro",
                "by_extern",
                "by_extern_atomic",
                "by_near",
                "by_member",
                "by_qualifier",
                "takes",
            ];
            for function in hidden.into_iter().filter(kept) {
                // The address of what is elsewhere may come from the linker's table.
                let last = all(function).pop().expect("an access");
                assert_ne!(last.2, Atomic::No, "{compiler} {flags:?} {function}: {last:?}");
            }
            // Parameters of another function that have the same name do not count.
            for function in ["plain_pointer", "plain_other", "plain_call"].into_iter().filter(kept) {
                let plain = all(function).pop().expect("an access").2;
                let typed = !flags.contains(&"-g1");
                assert_eq!(
                    plain,
                    if typed { Atomic::No } else { Atomic::Unsure },
                    "{compiler} {flags:?} {function}"
                );
            }
        }
    }
}

const FOLDED: &str = "#include <atomic>
#ifdef LLD
asm(\".ident \\\"Linker: LLD 14.0.6\\\"\");
#else
#endif
#define F extern \"C\" __attribute__((noinline, used))
F int relaxed(std::atomic<int>* a) { return a->load(std::memory_order_relaxed); }
#ifdef LLD
F int acquire(std::atomic<int>* a) __attribute__((alias(\"relaxed\")));
#else
F int acquire(std::atomic<int>* a) { return a->load(std::memory_order_acquire); }
F void store_relaxed(std::atomic<long>* a) { a->store(7, std::memory_order_relaxed); }
F void store_plain(long* a) { *a = 7; }
#endif
int main() { return 0; }
";

/// A linker that folds identical functions: what one of them asks for, the code is.
#[test]
fn functions_that_share_their_code_have_the_strongest_order() {
    let flags = ["-O2", "-ffunction-sections", "-fuse-ld=gold", "-Wl,--icf=all"];
    if !Path::new("/usr/bin/ld.gold").exists() {
        println!("skipped: there is no gold here");
    } else if let Some(path) = build("g++", &flags, FOLDED, "folded.cpp") {
        assert_eq!(
            found(&path, "relaxed", Options::default())[0],
            (Order::Acquire, Source::Dwarf, Atomic::Yes)
        );
        let image = Image::parse(Arc::from(std::fs::read(&path).expect("just built"))).expect("an image");
        let addr =
            |name: &str| image.symbols().iter().find(|symbol| symbol.name == name).map(|symbol| symbol.addr);
        assert_eq!(addr("relaxed"), addr("acquire"), "gold folds them");
        assert_eq!(addr("store_relaxed"), addr("store_plain"), "gold folds them");
        let stored = found(&path, "store_plain", Options::default());
        assert_eq!((stored[0].0, stored[0].2), (Order::Release, Atomic::Unsure));
        // The two orders are a contradiction, and somebody should know.
        let debug = Debug::new(&image, Arc::new(Host));
        let pc = addr("relaxed").expect("it is there");
        let effect = effects::effect(pc, image.code_at(pc).expect("code")).expect("an effect");
        let orders = Orders::new(&image, &debug, Options::default()).at(pc, &effect);
        assert!(orders.accesses[0].warning.is_some());
    }
    // lld forgets the others: only their symbols are left.
    if let Some(path) = build("g++", &["-O2", "-DLLD"], FOLDED, "lld.cpp") {
        let (_, from, atomic) = found(&path, "relaxed", Options::default())[0];
        assert_eq!((from, atomic), (Source::Policy, Atomic::Unsure));
    }
}

/// Two paths that end in the same instruction: atomic on the one, plain on the other.
const MERGED: &str = "#include <atomic>
__attribute__((noinline)) void g() { asm volatile(\"nop\" ::: \"memory\"); }
__attribute__((noinline)) void h() { asm volatile(\"nop; nop\" ::: \"memory\"); }
struct S { std::atomic<int> a; int ready() { return a.load(std::memory_order_acquire); } };
struct T { int x; int get() { return x; } };
extern \"C\" int one_line(S* s, T* t, int c) { t = (T*)s; int r; if (c) { g(); r = s->ready(); } else { h(); r = t->get(); } return r + 1; }
extern \"C\" int two_lines(S* s, T* t, int c) {
    t = (T*)s; int r;
    if (c) { g(); r = s->ready(); }
    else { h(); r = t->x; }
    return r + 1;
}
int main() { return 0; }
";
const MERGED_RUST: &str = "use std::sync::atomic::{AtomicI32, Ordering::Acquire};
#[inline(never)] fn g() { std::hint::black_box(1); }
#[inline(never)] fn h() { std::hint::black_box(2); }
struct S { a: AtomicI32 }
struct T { x: i32 }
impl S { fn ready(&self) -> i32 { self.a.load(Acquire) } }
impl T { fn get(&self) -> i32 { self.x } }
fn as_t(s: &S) -> &T { unsafe { &*(s as *const S as *const T) } }
#[unsafe(no_mangle)] pub fn one_line(s: &S, c: bool) -> i32 { let t = as_t(s); let r = if c { g(); s.ready() } else { h(); t.get() }; r + 1 }
#[unsafe(no_mangle)] pub fn two_lines(s: &S, c: bool) -> i32 {
    let t = as_t(s);
    let r = if c { g(); s.ready() }
        else { h(); t.x };
    r + 1
}
fn main() {}
";

/// LLVM makes one instruction of the two, of line 0 or, if both have the same line, of column 0: it may be atomic.
#[test]
fn what_llvm_has_merged_is_not_plain() {
    let rust = ["-O", "--edition=2024", "-Awarnings", "--crate-type=cdylib"];
    for (compiler, flags, text, name) in [
        ("clang++", &["-O2"][..], MERGED, "merged.cpp"),
        ("clang++-19", &["-O2"], MERGED, "merged.cpp"),
        ("rustc", &rust, MERGED_RUST, "merged.rs"),
    ] {
        let Some(path) = build(compiler, flags, text, name) else { continue };
        for function in ["one_line", "two_lines"] {
            let found = found(&path, function, Options::default());
            assert!(!found.is_empty(), "{compiler} {function}");
            assert!(found.iter().all(|it| it.2 == Atomic::Unsure), "{compiler} {function}: {found:?}");
        }
    }
}
