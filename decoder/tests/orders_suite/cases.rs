//! The cases: each atomic operation × order × width, as source text of one function, and what it asks for.

use wmtrace_decoder::orders::OpKind;
use wmtrace_model::order::Order::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

/// One function of the suite. Its arguments: the atomic object, an expected value or a pointer to one, a value.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) kind: OpKind,
    pub(crate) order: Order,
    pub(crate) failure: Option<Order>,
    /// The function in its language.
    pub(crate) text: String,
}

const LOADS: [Order; 3] = [Relaxed, Acquire, SeqCst];
const STORES: [Order; 3] = [Relaxed, Release, SeqCst];
const ALL: [Order; 5] = [Relaxed, Acquire, Release, AcqRel, SeqCst];
const FENCES: [Order; 4] = [Acquire, Release, AcqRel, SeqCst];

fn cpp_order(order: Order) -> String {
    format!("std::memory_order_{}", order.name())
}

fn rust_order(order: Order) -> &'static str {
    match order {
        Order::Na => unreachable!("no case is plain"),
        Relaxed => "Relaxed",
        Acquire => "Acquire",
        Release => "Release",
        AcqRel => "AcqRel",
        SeqCst => "SeqCst",
    }
}

fn failure_of(order: Order) -> Order {
    match order {
        AcqRel => Acquire,
        Release => Relaxed,
        other => other,
    }
}

struct List(Vec<Case>);

impl List {
    fn add(
        &mut self,
        name: &str,
        kind: OpKind,
        order: Order,
        failure: Option<Order>,
        text: impl FnOnce(&str) -> String,
    ) {
        let mut full = format!("{name}_{}", order.name());
        if let Some(failure) = failure {
            full = format!("{full}_{}", failure.name());
        }
        let text = text(&full);
        self.0.push(Case { name: full, kind, order, failure, text });
    }
}

/// C++: `std::atomic` of four widths, pointers, bool and a struct, `atomic_ref`, `atomic_flag`, free functions.
pub(crate) fn cpp() -> Vec<Case> {
    let mut list = List(Vec::new());
    let objects = [
        ("u8", "uint8_t", "std::atomic<uint8_t>", "(*p)"),
        ("u16", "uint16_t", "std::atomic<uint16_t>", "(*p)"),
        ("u32", "uint32_t", "std::atomic<uint32_t>", "(*p)"),
        ("u64", "uint64_t", "std::atomic<uint64_t>", "(*p)"),
        ("ref32", "uint32_t", "uint32_t", "(std::atomic_ref<uint32_t>(*p))"),
        ("ref64", "uint64_t", "uint64_t", "(std::atomic_ref<uint64_t>(*p))"),
    ];
    for (short, value, object, expr) in objects {
        let function = |result: &str, name: &str, body: String| {
            format!("F {result} {name}({object}* p, {value}* e, {value} v) {{ (void)e; (void)v; {body} }}")
        };
        let name = |op: &str| format!("{op}_{short}");
        for order in LOADS {
            let call = format!("return {expr}.load({});", cpp_order(order));
            list.add(&name("load"), OpKind::Load, order, None, |n| function(value, n, call));
        }
        for order in STORES {
            let call = format!("{expr}.store(v, {});", cpp_order(order));
            list.add(&name("store"), OpKind::Store, order, None, |n| function("void", n, call));
        }
        for op in ["exchange", "fetch_add", "fetch_sub", "fetch_and", "fetch_or", "fetch_xor"] {
            for order in ALL {
                let call = format!("return {expr}.{op}(v, {});", cpp_order(order));
                list.add(&name(op), OpKind::Rmw, order, None, |n| function(value, n, call));
            }
        }
        for op in ["compare_exchange_weak", "compare_exchange_strong"] {
            for order in ALL {
                for failure in LOADS {
                    let call =
                        format!("return {expr}.{op}(*e, v, {}, {});", cpp_order(order), cpp_order(failure));
                    list.add(&name(op), OpKind::Cas, order, Some(failure), |n| function("bool", n, call));
                }
                let call = format!("return {expr}.{op}(*e, v, {});", cpp_order(order));
                let failure = Some(failure_of(order));
                list.add(&name(&format!("{op}_1")), OpKind::Cas, order, failure, |n| {
                    function("bool", n, call)
                });
            }
        }
        for (op, kind, result, body) in [
            ("convert", OpKind::Load, value, format!("return {expr};")),
            ("assign", OpKind::Store, "void", format!("{expr} = v;")),
            ("plus_assign", OpKind::Rmw, value, format!("return {expr} += v;")),
            ("or_assign", OpKind::Rmw, value, format!("return {expr} |= v;")),
            ("pre_increment", OpKind::Rmw, value, format!("return ++{expr};")),
            ("post_decrement", OpKind::Rmw, value, format!("return {expr}--;")),
            ("default_load", OpKind::Load, value, format!("return {expr}.load();")),
            ("default_store", OpKind::Store, "void", format!("{expr}.store(v);")),
        ] {
            list.add(&name(op), kind, SeqCst, None, |n| function(result, n, body));
        }
    }
    for (short, value, object) in [
        ("bool", "bool", "std::atomic<bool>"),
        ("ptr", "int*", "std::atomic<int*>"),
        ("pair", "Pair", "std::atomic<Pair>"),
    ] {
        let function = |result: &str, name: &str, body: String| {
            format!("F {result} {name}({object}* p, {value}* e, {value} v) {{ (void)e; (void)v; {body} }}")
        };
        let name = |op: &str| format!("{op}_{short}");
        for order in LOADS {
            let call = format!("return p->load({});", cpp_order(order));
            list.add(&name("load"), OpKind::Load, order, None, |n| function(value, n, call));
        }
        for order in STORES {
            let call = format!("p->store(v, {});", cpp_order(order));
            list.add(&name("store"), OpKind::Store, order, None, |n| function("void", n, call));
        }
        for order in ALL {
            let call = format!("return p->exchange(v, {});", cpp_order(order));
            list.add(&name("exchange"), OpKind::Rmw, order, None, |n| function(value, n, call));
            let call = format!("return p->compare_exchange_strong(*e, v, {});", cpp_order(order));
            let failure = Some(failure_of(order));
            list.add(&name("compare_exchange_strong_1"), OpKind::Cas, order, failure, |n| {
                function("bool", n, call)
            });
        }
    }
    let free = |result: &str, name: &str, body: String| {
        format!(
            "F {result} {name}(std::atomic<uint32_t>* p, uint32_t* e, uint32_t v) {{ (void)p; (void)e; (void)v; {body} }}"
        )
    };
    for order in LOADS {
        let call = format!("return std::atomic_load_explicit(p, {});", cpp_order(order));
        list.add("free_load", OpKind::Load, order, None, |n| free("uint32_t", n, call));
        let call = format!("return wrapped(*p, {});", cpp_order(order));
        list.add("wrapped_load", OpKind::Load, order, None, |n| free("uint32_t", n, call));
    }
    for order in STORES {
        let call = format!("std::atomic_store_explicit(p, v, {});", cpp_order(order));
        list.add("free_store", OpKind::Store, order, None, |n| free("void", n, call));
        let call = format!("((std::atomic_flag*)p)->clear({});", cpp_order(order));
        list.add("flag_clear", OpKind::Store, order, None, |n| free("void", n, call));
    }
    for order in ALL {
        let call = format!("return ((std::atomic_flag*)p)->test_and_set({});", cpp_order(order));
        list.add("flag_test_and_set", OpKind::Rmw, order, None, |n| free("bool", n, call));
    }
    for order in FENCES {
        let call =
            format!("*(volatile uint32_t*)p = 1; std::atomic_thread_fence({}); *e = 1;", cpp_order(order));
        list.add("fence", OpKind::Fence, order, None, |n| free("void", n, call));
        let call = format!("if (v) std::atomic_thread_fence({}); *e = 1;", cpp_order(order));
        list.add("fence_if", OpKind::Fence, order, None, |n| free("void", n, call));
    }
    list.0
}

/// The C++ source of cases.
pub(crate) fn cpp_source(cases: &[Case]) -> String {
    let mut text = String::from(
        "#include <atomic>\n#include <cstdint>\n#define F extern \"C\" __attribute__((noinline))\n\
         struct alignas(8) Pair { int a, b; };\n\
         static inline uint32_t wrapped(std::atomic<uint32_t>& x, std::memory_order o) { return x.load(o); }\n\
         int main() {}\n#pragma GCC diagnostic ignored \"-Wreturn-type-c-linkage\"\n",
    );
    for case in cases {
        text.push_str(&case.text);
        text.push('\n');
    }
    text
}

/// Rust: `core::sync::atomic`.
pub(crate) fn rust() -> Vec<Case> {
    let mut list = List(Vec::new());
    for (short, value, object) in [
        ("u8", "u8", "AtomicU8"),
        ("u16", "u16", "AtomicU16"),
        ("u32", "u32", "AtomicU32"),
        ("u64", "u64", "AtomicU64"),
        ("bool", "bool", "AtomicBool"),
        ("ptr", "*mut u8", "AtomicPtr<u8>"),
    ] {
        let function = |result: &str, name: &str, body: String| {
            format!(
                "#[unsafe(no_mangle)] #[inline(never)] pub fn {name}(p: &{object}, _e: {value}, _v: {value}) -> {result} {{ {body} }}"
            )
        };
        let name = |op: &str| format!("{op}_{short}");
        for order in LOADS {
            let call = format!("p.load(Ordering::{})", rust_order(order));
            list.add(&name("load"), OpKind::Load, order, None, |n| function(value, n, call));
        }
        for order in STORES {
            let call = format!("p.store(_v, Ordering::{})", rust_order(order));
            list.add(&name("store"), OpKind::Store, order, None, |n| function("()", n, call));
        }
        let ops: &[&str] = match short {
            "bool" => &["swap", "fetch_and", "fetch_or", "fetch_xor"],
            "ptr" => &["swap"],
            _ => &[
                "swap",
                "fetch_add",
                "fetch_sub",
                "fetch_and",
                "fetch_or",
                "fetch_xor",
                "fetch_max",
                "fetch_nand",
            ],
        };
        for op in ops {
            for order in ALL {
                let call = format!("p.{op}(_v, Ordering::{})", rust_order(order));
                list.add(&name(op), OpKind::Rmw, order, None, |n| function(value, n, call));
            }
        }
        for op in ["compare_exchange", "compare_exchange_weak"] {
            for order in ALL {
                for failure in LOADS {
                    let orders =
                        format!("Ordering::{}, Ordering::{}", rust_order(order), rust_order(failure));
                    let call = format!("p.{op}(_e, _v, {orders}).is_ok()");
                    list.add(&name(op), OpKind::Cas, order, Some(failure), |n| function("bool", n, call));
                }
            }
        }
    }
    for order in FENCES {
        list.add("fence", OpKind::Fence, order, None, |n| {
            format!(
                "#[unsafe(no_mangle)] #[inline(never)] pub fn {n}(p: &mut u32, e: &mut u32) {{ *p = 1; fence(Ordering::{}); *e = 1; }}",
                rust_order(order)
            )
        });
    }
    list.0
}

/// The Rust source of cases.
pub(crate) fn rust_source(cases: &[Case]) -> String {
    let mut text = String::from("use std::sync::atomic::*;\n");
    for case in cases {
        text.push_str(&case.text);
        text.push('\n');
    }
    text
}
