use super::*;

struct One(&'static str);
impl Files for One {
    fn open(&self, file: DebugFile<'_>) -> Option<Arc<[u8]>> {
        matches!(file, DebugFile::Source("a.c")).then(|| Arc::from(self.0.as_bytes()))
    }
}

#[test]
fn comments_and_strings_are_no_code() {
    let expected = [
        ("a; // b\nc", "a;     \nc"),
        ("a /* b\nc */ d", "a     \n     d"),
        ("f(\"x \\\" /* y\", z); // w", "f(\"         \", z);     "),
        ("a /* no end", "a /* no end"),
        ("c = '\"'; d = \"e\";", "c = '\"'; d = \" \";"),
        ("\"no end\nf /* g */", "\"no end\nf        "),
    ];
    for (text, code) in expected {
        assert_eq!(uncommented(text), code);
    }
}

#[test]
fn macros_of_the_same_file() {
    let text = "#define O(x) std::memory_order_##x\n# define LOAD(p) __atomic_load_n(p, 0)\n\
                #define get(p) hidden(p)\n#define long(x) \\\n x\n#define two(x) x\n#define two(x) *(volatile int*)x";
    let plain = |name: &str| Texts::default().is_plain_macro(&One(text), "a.c", name);
    assert!(plain("O"));
    for other in ["LOAD", "get", "long", "two", "absent"] {
        assert!(!plain(other), "{other}");
    }
}

#[test]
fn names_that_nobody_knows() {
    let unknown = |text: &str| {
        let known = |word: &str| matches!(word, "x" | "y" | "f");
        Statement { text: text.to_owned(), at: None, within: None }.unknown(known)
    };
    let nothing =
        ["x = f(y);", "return x + N;", "s::g(x);", "x.size();", "std::move(x);", "assert(x == 'a');"];
    for text in nothing {
        assert_eq!(unknown(text), (false, false), "{text}");
    }
    assert_eq!(unknown("x = flag;"), (true, false));
    assert_eq!(unknown("x.flag = 1;"), (true, false));
    assert_eq!(unknown("x = smp_load(&y);"), (true, true));
    assert_eq!(unknown("x = LOAD(&y);"), (true, true));
}

fn call(text: &'static str, column: u32, kind: OpKind, scale: Scale) -> Option<(Order, Option<Order>)> {
    let line = SourceLine { file: "a.c".into(), line: 1, column };
    Texts::default().call(&One(text), &line, Op { kind, scale, fixed: None, indirect: false })
}

#[test]
fn a_call_states_its_orders() {
    use Order::{AcqRel, Acquire, Relaxed, Release};
    assert_eq!(call("x.load(std::memory_order_acquire)", 3, OpKind::Load, Scale::C), Some((Acquire, None)));
    assert_eq!(call("x.load(std::memory_order::relaxed)", 7, OpKind::Load, Scale::C), Some((Relaxed, None)));
    assert_eq!(call("x.swap(f(1, 2), Ordering::AcqRel)", 3, OpKind::Rmw, Scale::Rust), Some((AcqRel, None)));
    assert_eq!(call("x.load()", 3, OpKind::Load, Scale::C), Some((Order::SeqCst, None)));
    assert_eq!(call("x.store(1,\n  Release)", 3, OpKind::Store, Scale::Rust), Some((Release, None)));
    assert_eq!(
        call("x.compare_exchange(a, b, AcqRel, Acquire)", 3, OpKind::Cas, Scale::Rust),
        Some((AcqRel, Some(Acquire)))
    );
}

#[test]
fn what_is_not_plainly_written_says_nothing() {
    assert_eq!(call("x.load(order)", 3, OpKind::Load, Scale::Rust), None);
    assert_eq!(call("x.store(1, order)", 3, OpKind::Store, Scale::C), None);
    let cas = "x.compare_exchange_strong(a, a | 1, order, memory_order_relaxed)";
    assert_eq!(call(cas, 3, OpKind::Cas, Scale::C), None);
    assert_eq!(
        call("x.load(a ? memory_order_relaxed : memory_order_acquire)", 3, OpKind::Load, Scale::C),
        None
    );
    assert_eq!(call("y = x + f(memory_order_relaxed)", 1, OpKind::Load, Scale::C), None);
    assert_eq!(call("x.load(memory_order_relaxed", 3, OpKind::Load, Scale::C), None);
}

fn statement(text: &str) -> Statement {
    Statement { text: text.to_owned(), at: None, within: None }
}

#[test]
fn calls_of_c() {
    let text = statement(
        "v = atomic_load_explicit(&p->x, memory_order_acquire) + __atomic_fetch_add(&y, 1, __ATOMIC_RELAXED);",
    );
    let calls = text.calls();
    let seen: Vec<_> = calls.iter().map(|call| (call.kind, call.order)).collect();
    assert_eq!(seen, [(OpKind::Load, Some(Order::Acquire)), (OpKind::Rmw, Some(Order::Relaxed))]);
    assert_eq!(
        &text.text[calls[0].extent.0..calls[0].extent.1],
        "atomic_load_explicit(&p->x, memory_order_acquire)"
    );
    let sc = |text: &str| statement(text).calls()[0].order;
    assert_eq!(sc("atomic_store(&x, 1);"), Some(Order::SeqCst));
    assert_eq!(sc("__sync_fetch_and_add(&x, 1);"), Some(Order::SeqCst));
    assert_eq!(sc("__atomic_load_n(&x, mo);"), None);
    // GCC's manual: an acquire barrier, and a release barrier.
    assert_eq!(sc("while (__sync_lock_test_and_set(&x, 1)) {}"), Some(Order::Acquire));
    assert_eq!(sc("__sync_lock_release(&x);"), Some(Order::Release));
}

#[test]
fn one_statement_of_several_on_a_line() {
    let alone =
        |text: &str, at: usize| Statement { text: text.to_owned(), at: Some(at), within: None }.alone();
    let line = "a = 1; for (i = 0; i < n; i++) { b = f(c; d); } volatile int e;";
    for (word, found) in [
        ("a = 1", "a = 1;"),
        ("b =", " b = f(c; d);"),
        ("n;", " for (i = 0; i < n; i++) {"),
        ("e;", " volatile int e;"),
    ] {
        let at = line.find(word).expect("it is there");
        let one = alone(line, at);
        assert_eq!(one.text, found);
        assert_eq!(
            one.at.map(|here| &one.text[here..]),
            Some(&line[at..][..one.text.len() - one.at.unwrap()])
        );
    }
    assert_eq!(alone("a) b; c", 4).text, "a) b; c", "not understood");
}

#[test]
fn what_is_assigned() {
    for (text, expected) in
        [("x = 1;", true), ("p->f = a == b;", true), ("x == 1", false), ("x |= 2;", false), ("f(x);", false)]
    {
        assert_eq!(statement(text).assigns(), expected, "{text}");
    }
}

#[test]
fn macros_are_replaced() {
    let macros = |name: &str| -> Option<&Macro> {
        let make = |parameters: Option<&[&str]>, body: &str| -> &'static Macro {
            let parameters = parameters.map(|list| list.iter().map(|it| (*it).to_owned()).collect());
            Box::leak(Box::new(Macro { parameters, body: body.to_owned() }))
        };
        match name {
            "rlx" => Some(make(None, "memory_order_relaxed")),
            "STORE" => Some(make(Some(&["p", "v"]), "atomic_store_explicit ( p , v , rlx )")),
            "self" => Some(make(None, "self + self")),
            "glued" => Some(make(Some(&["x"]), "a ## x")),
            _ => None,
        }
    };
    let text = "f(); STORE(&x, g(1, 2));";
    let expanded = Statement { text: text.to_owned(), at: Some(5), within: None }.expanded(macros);
    let calls = expanded.calls();
    assert_eq!((calls[0].kind, calls[0].order), (OpKind::Store, Some(Order::Relaxed)));
    assert_eq!(expanded.at, Some(calls[0].extent.0));
    assert!(expanded.text.contains("g(1, 2)"));
    assert_eq!(statement("glued(1) + STORE").expanded(macros).text, "glued(1) + STORE");
    assert!(statement("self").expanded(macros).text.len() < 1 << 15);
}

#[test]
fn what_may_hide_an_atomic() {
    for text in ["asm volatile(\"mfence\");", "x = READ_ONCE(y);", "__atomic_add(&x);", "my_atomic_add(&x);"]
    {
        assert!(statement(text).may_hide_atomics(), "{text}");
    }
    for text in ["x = y + 1;", "p->next = NULL;", "f(A, b);", "std::atomic_thread_fence(o); x = 1;"] {
        assert!(!statement(text).may_hide_atomics(), "{text}");
    }
}
