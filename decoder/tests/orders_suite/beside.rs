//! Several operations in one function, with a loop and a plain access among them: each keeps its own order.

use super::cases::Case;
use super::emulate::{Machine, OBJECT};
use super::{CONFIGS, Config, Host, Seen, build, effects, resolve};
use std::collections::BTreeMap;
use std::sync::Arc;
use wmtrace_decoder::debug::Debug;
use wmtrace_decoder::image::Image;
use wmtrace_decoder::orders::{OpKind, Options, Orders};
use wmtrace_model::order::Order;

const MANY: &str = "#include <atomic>
using A = std::atomic<int>;
#define O(x) std::memory_order_##x
extern \"C\" int many(A* a, A* b, A* c, A* d, A* e, int* f) {
    int sum = a->load(O(relaxed)) + b->load(O(acquire));
    for (int i = 0; i < 4; i++) { c->store(sum + i, O(relaxed)); sum += *f; }
    d->store(sum, O(release));
    sum += e->load(O(seq_cst));
    return sum + a->load(O(relaxed));
}
";

#[test]
fn operations_side_by_side_keep_their_own_orders() {
    // The objects of the arguments, far apart, and what the source asks for.
    const OBJECTS: [(usize, u64, Order); 6] = [
        (7, 0x100, Order::Relaxed),
        (6, 0x200, Order::Acquire),
        (2, 0x300, Order::Relaxed),
        (1, 0x400, Order::Release),
        (8, 0x500, Order::SeqCst),
        (9, 0x600, Order::Na),
    ];
    let case =
        Case { name: "many".into(), kind: OpKind::Load, order: Order::Na, failure: None, text: MANY.into() };
    for (config, name) in CONFIGS.iter().zip(["0", "1", "2", "3", "4", "5", "6", "7"]) {
        let flags = config.flags;
        let Some(path) = build(&Config { name, flags, ..*config }, std::slice::from_ref(&case)) else {
            continue;
        };
        let image = Image::parse(Arc::from(std::fs::read(path).expect("just built"))).expect("an image");
        let debug = Debug::new(&image, Arc::new(Host { source: true }));
        let orders = Orders::new(&image, &debug, Options::default());
        let symbol = image.symbols().iter().find(|symbol| symbol.name == "many").expect("the function");
        let mut machine = Machine::new(&image);
        for (register, offset, _) in OBJECTS {
            machine.regs[register] = OBJECT + offset;
        }
        let mut seen = BTreeMap::new();
        let result = machine.run(symbol.addr, &mut |machine, pc, _| {
            let effect = image.code_at(pc).and_then(|bytes| effects::effect(pc, bytes)).expect("an effect");
            for (access, info) in effect.accesses.iter().zip(orders.at(pc, &effect).accesses) {
                let addr = resolve(machine, pc, access);
                let Some((_, offset, wanted)) = OBJECTS.iter().find(|object| OBJECT + object.1 == addr)
                else {
                    continue;
                };
                let found = Seen::new(machine, access.atomic, info.clone()).order;
                assert_eq!(found, Some(*wanted), "{} {pc:#x}: {info:?}", config.name);
                *seen.entry(*offset).or_insert(0) += 1;
            }
        });
        assert_eq!(result, Ok(()), "{}", config.name);
        // `a` is loaded twice, `c` stored four times, `f` loaded four times (or kept in a register).
        assert_eq!(
            (seen[&0x100], seen[&0x200], seen[&0x300], seen[&0x400], seen[&0x500]),
            (2, 1, 4, 1, 1),
            "{}",
            config.name
        );
        assert!(seen.contains_key(&0x600), "{}", config.name);
    }
}
