use super::*;

fn items(text: &str, language: Language) -> Items {
    Items::new(text.to_owned(), language, &Macros::default())
}

fn names(items: &Items) -> Vec<&str> {
    items.definitions.iter().map(|definition| definition.name.as_str()).collect()
}

fn effects(items: &Items, name: &str) -> Effects {
    let named = items.definitions.iter().filter(|definition| definition.name == name);
    let found = named.flat_map(|definition| items.contents(&definition.place));
    found.fold(Effects::default(), |sum, (_, found)| match found {
        Found::Fence(effects) | Found::Barrier(effects) => sum | effects,
        Found::Name { .. } => sum,
    })
}

const ACQUIRE: Effects = Effects { acquire: true, release: false };

#[test]
fn functions_of_c() {
    let text = "int f(int a) { if (g(a)) { h(); } while (x(1)) { } return k(2); }\n\
                void T::m() const noexcept { }\nint d(void);\nT::T(int a) : b{a}, c(a) { n(); }\n\
                auto l(int a) -> int { return 0; }\nstatic __attribute__((cold)) void\nq(void)\n{ }";
    let items = items(text, Language::C);
    // `c(a) { … }` looks like a function.
    assert_eq!(names(&items), ["f", "m", "T", "c", "l", "q"]);
}

#[test]
fn fences_of_c() {
    let text = "#define R() atomic_thread_fence(memory_order_acquire)\n#define S() \\\n do { R(); } while (0)\n\
                void f(void) { std::atomic_thread_fence(std::memory_order::acquire); }\n\
                void g(memory_order o) { atomic_thread_fence(o); }\n\
                void s(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); atomic_signal_fence(o); }\n\
                #if 0\nvoid z(void) { __atomic_thread_fence(__ATOMIC_ACQ_REL); }\n#endif\n\
                static inline void b(void) { __asm__ __volatile__(\"\" ::: \"memory\"); asm(\"nop\"); }";
    let items = items(text, Language::C);
    assert_eq!(effects(&items, "R"), ACQUIRE);
    assert_eq!(effects(&items, "f"), ACQUIRE);
    assert_eq!(effects(&items, "g"), Effects::BOTH);
    assert_eq!(effects(&items, "s"), Effects::default());
    assert_eq!(effects(&items, "b"), Effects::BOTH);
    assert!(!names(&items).contains(&"z"));
}

#[test]
fn rust_has_functions_macros_and_other_names() {
    let text = "use std::sync::atomic::fence as f;\nmod queue;\n\
                fn g<T: Fn() -> u8>(t: T) -> [u8; 2] where T: Copy { fence(Ordering::Acquire) }\n\
                macro_rules! m { () => { atomic::fence(Release) } }\n\
                impl<T> Drop for Guard<T> { fn drop(&mut self) { fence(Acquire); } }\ntrait A { fn n(); }";
    let items = items(text, Language::Rust);
    assert_eq!(names(&items), ["f", "g", "m", "Guard", "drop"]);
    assert_eq!(items.modules, ["queue"]);
    assert_eq!(effects(&items, "f"), Effects::BOTH);
    assert_eq!(effects(&items, "g"), ACQUIRE);
    assert_eq!(effects(&items, "m"), Effects { acquire: false, release: true });
    assert_eq!(effects(&items, "Guard"), ACQUIRE);
}

#[test]
fn assembly_has_lines() {
    let text = "fn f() {\n a();\n asm!(\n  \"mov {}, [{}]\",\n  out(reg) x);\n b();\n}";
    let items = items(text, Language::Rust);
    let lines: Vec<u32> = (1..=7).filter(|&line| items.is_assembly(line)).collect();
    assert_eq!(lines, [3, 4, 5]);
}

#[test]
fn what_is_around_a_line() {
    let text =
        "void\nf(void)\n{\n a;\n}\nint main() {\n run([&] {\n  b;\n });\n run([] { c; }, [] {\n  d;\n });\n}";
    let items = items(text, Language::C);
    let lines = |line, to| {
        let range = items.around(line, to).expect("there is something");
        (items.tokens.code[range.start].line, items.tokens.code[range.end - 1].line)
    };
    assert_eq!(lines(2, 4), (2, 5));
    assert_eq!(lines(1, 4), (1, 5));
    assert_eq!(lines(6, 9), (6, 13));
    assert_eq!(lines(7, 8), (7, 9));
    assert_eq!(lines(10, 11), (10, 12));
}
