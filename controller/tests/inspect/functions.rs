//! `--function` reads only the units that may have the function: it must find what a look at everything finds.

use super::{Directory, accesses, json};
use serde_json::Value;

const SHARED: &str = "#include <atomic>
extern std::atomic<int> shared;
namespace q {
inline __attribute__((always_inline)) int touch(int by) {
  return shared.fetch_add(by, std::memory_order_acquire);
}
template <class T> struct Queue {
  std::atomic<T> head{};
  __attribute__((noinline)) void push(T value) { head.store(value, std::memory_order_release); }
};
}
";
const FIRST: &str = "#include \"shared.h\"
std::atomic<int> shared;
int first() { return q::touch(1); }
int second(); int third();
extern \"C\" int other_name() __attribute__((alias(\"_Z5firstv\")));
int main() { q::Queue<int> queue; queue.push(1); return first() + second() + third() + other_name(); }
";
const SECOND: &str = "#include \"shared.h\"
int second() { q::Queue<long> queue; queue.push(2); return q::touch(2) + (int)queue.head.load(); }
";
/// Does not mention either.
const THIRD: &str = "#include <atomic>
std::atomic<int> third_counter;
int third() { return third_counter.load(std::memory_order_acquire); }
";

/// Where, what and why of the entries of a function.
fn entries(report: &Value, function: &str) -> Vec<String> {
    accesses(report)
        .iter()
        .filter(|entry| entry["function"].as_str().is_some_and(|name| name.contains(function)))
        .map(|entry| format!("{} {} {} {}", entry["pc"], entry["op"], entry["order"], entry["from"]))
        .collect()
}

#[test]
fn one_function_of_many_units() {
    let directory = Directory::new("units");
    let sources = [("shared.h", SHARED), ("first.cpp", FIRST), ("second.cpp", SECOND), ("third.cpp", THIRD)];
    for (name, text) in sources {
        directory.file(name, text);
    }
    for compiler in [
        "g++ -g",
        "g++ -g -gdwarf-4",
        "g++ -g -gsplit-dwarf",
        "g++ -g -flto",
        "clang++ -g",
        "clang++ -g -gdwarf-4",
        "clang++ -g -gsplit-dwarf",
        "clang++ -g -gdwarf-5 -gdwarf64",
    ] {
        let (tool, options) = compiler.split_once(' ').unwrap();
        directory.run(tool, &format!("-O2 {options} first.cpp second.cpp third.cpp -o units"));
        let program = directory.0.join("units");
        let whole = json(&[], &program);
        // As many as the source has: the two calls, and those that `main` inlined.
        for (wanted, contains, least) in [
            ("touch", "touch(", 2),
            ("q::touch(int)", "touch(", 2),
            ("push", "::push(", 2),
            ("third", "third(", 1),
        ] {
            let expected = entries(&whole, contains);
            assert!(expected.len() >= least, "{compiler}, {wanted}: {expected:?}");
            let one = json(&["--function", wanted], &program);
            assert_eq!(entries(&one, contains), expected, "{compiler}, {wanted}");
            assert_eq!(one["warnings"], Value::Array(Vec::new()), "{compiler}, {wanted}");
        }
        let none = json(&["--function", "touched"], &program);
        assert_eq!(accesses(&none).len(), 0, "{compiler}");
        assert_eq!(none["warnings"][0], "no function 'touched' with anything to list");
    }
}
