//! Outline atomics: the functions that gcc and clang call instead of an LSE instruction where they do not know the
//! processor (`-moutline-atomics`, the default on Linux). libgcc's `lse.S` defines them, one for each operation, width
//! and order; each runs the LSE instruction, or a loop of exclusives on processors that have none.

use wmtrace_model::order::Order;

/// What an outline atomic does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OutlineOp {
    /// Compare and swap: `(expected, desired, address)` → old value.
    Cas,
    /// Exchange.
    Swp,
    /// Add.
    LdAdd,
    /// Clear the bits of the operand.
    LdClr,
    /// Exclusive or.
    LdEor,
    /// Set the bits of the operand.
    LdSet,
}

/// A function `__aarch64_<op><width>_<order>`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OutlineAtomic {
    /// What it does.
    pub op: OutlineOp,
    /// How many bytes.
    pub width: u8,
    /// With which order. `_sync`, which the `__sync_*` builtins call, is a full barrier; but the exchange is that of
    /// `__sync_lock_test_and_set`, which only acquires (libgcc runs SWPA for it).
    pub order: Order,
}

const OPS: [(&str, OutlineOp); 6] = [
    ("cas", OutlineOp::Cas),
    ("swp", OutlineOp::Swp),
    ("ldadd", OutlineOp::LdAdd),
    ("ldclr", OutlineOp::LdClr),
    ("ldeor", OutlineOp::LdEor),
    ("ldset", OutlineOp::LdSet),
];

const ORDERS: [(&str, Order); 5] = [
    ("relax", Order::Relaxed),
    ("acq", Order::Acquire),
    ("rel", Order::Release),
    ("acq_rel", Order::AcqRel),
    ("sync", Order::SeqCst),
];

/// What the function of this name does; `None`: it is not an outline atomic.
pub fn outline_atomic(name: &str) -> Option<OutlineAtomic> {
    let name = name.strip_prefix("__aarch64_")?;
    let (name, order) = name.split_once('_')?;
    let digits = name.find(|c: char| c.is_ascii_digit())?;
    let (op, width) = name.split_at(digits);
    let &(_, op) = OPS.iter().find(|(text, _)| *text == op)?;
    let &(_, order) = ORDERS.iter().find(|(text, _)| *text == order)?;
    let order = if (op, order) == (OutlineOp::Swp, Order::SeqCst) { Order::Acquire } else { order };
    let width = match (width, op) {
        ("1", _) => 1,
        ("2", _) => 2,
        ("4", _) => 4,
        ("8", _) => 8,
        ("16", OutlineOp::Cas) => 16,
        (_, _) => return None,
    };
    Some(OutlineAtomic { op, width, order })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_libgcc() {
        let mut count = 0;
        for (op_name, op) in OPS {
            for width in [1, 2, 4, 8, 16] {
                for (order_name, order) in ORDERS {
                    let found = outline_atomic(&format!("__aarch64_{op_name}{width}_{order_name}"));
                    let order =
                        if (op, order_name) == (OutlineOp::Swp, "sync") { Order::Acquire } else { order };
                    let exists = width < 16 || op == OutlineOp::Cas;
                    assert_eq!(found, exists.then_some(OutlineAtomic { op, width, order }));
                    count += usize::from(exists);
                }
            }
        }
        assert_eq!(count, 25 * 5);
    }

    #[test]
    fn other_names() {
        let names = [
            "",
            "__aarch64_",
            "__aarch64_have_lse_atomics",
            "__aarch64_ldadd_acq",
            "__aarch64_ldadd4",
            "__aarch64_ldadd4_",
            "__aarch64_ldadd3_acq",
            "__aarch64_ldadd16_acq",
            "__aarch64_ldadd44_acq",
            "__aarch64_ldsmax4_acq",
            "__aarch64_cas8_acq_relx",
            "__aarch64_sync_cache_range",
            "aarch64_cas8_acq",
        ];
        for name in names {
            assert_eq!(outline_atomic(name), None, "{name}");
        }
    }
}
