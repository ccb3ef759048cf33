//! Random litmus tests: two or three threads, two or three locations, every kind of operation and order.

use std::fmt::Write as _;

const LOADS: [&str; 3] = ["relaxed", "acquire", "seq_cst"];
const STORES: [&str; 3] = ["relaxed", "release", "seq_cst"];
const BOTH: [&str; 5] = ["relaxed", "acquire", "release", "acq_rel", "seq_cst"];
const FENCES: [&str; 4] = ["acquire", "release", "acq_rel", "seq_cst"];

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }
}

/// The test of this number. Each store writes a value of its own, and each register is set once.
pub(crate) fn program(number: u64) -> String {
    let mut random = Random(number);
    let locations = &["x", "y", "z"][..2 + usize::from(random.below(3) == 0)];
    let threads = 2 + u64::from(random.below(3) == 0);
    let parameters: Vec<_> = locations.iter().map(|name| format!("atomic_int* {name}")).collect();
    let initial: String = locations.iter().map(|name| format!("{name} = 0; ")).collect();
    let mut text = format!("C random-{number}\n\n{{ {initial}}}\n");
    let mut value = 0;
    for thread in 0..threads {
        writeln!(text, "\nP{thread} ({}) {{", parameters.join(", ")).unwrap();
        // The first thing of each thread is a load or a store, so that no thread is empty of them.
        let length = if threads == 2 { 2 + random.below(3) } else { 1 + random.below(3) };
        for at in 0..length {
            value += 1;
            let kind = random.below(if at == 0 { 10 } else { 15 });
            operation(&mut text, &mut random, kind, at, locations, value);
        }
        text += "}\n";
    }
    text + "\nexists (x=0)\n"
}

fn operation(
    text: &mut String,
    random: &mut Random,
    kind: u64,
    register: u64,
    locations: &[&str],
    value: u64,
) {
    let location = random.pick(locations);
    let line = match kind {
        0..=4 => {
            let order = random.pick(&LOADS);
            format!("int r{register} = atomic_load_explicit({location}, memory_order_{order});")
        }
        5..=9 => {
            let order = random.pick(&STORES);
            format!("atomic_store_explicit({location}, {value}, memory_order_{order});")
        }
        10 | 11 => {
            let (name, order) = (random.pick(&["exchange", "fetch_add"]), random.pick(&BOTH));
            format!(
                "int r{register} = atomic_{name}_explicit({location}, {}, memory_order_{order});",
                16 * value
            )
        }
        12 => {
            let (order, failure) = (random.pick(&BOTH), random.pick(&LOADS));
            let expected = random.below(value);
            format!(
                "int e{register} = {expected};\n  int r{register} = atomic_compare_exchange_strong_explicit({location}, \
                 &e{register}, {value}, memory_order_{order}, memory_order_{failure});"
            )
        }
        _ => format!("atomic_thread_fence(memory_order_{});", random.pick(&FENCES)),
    };
    writeln!(text, "  {line}").unwrap();
}
