// A shared pointer that is replaced while others read it: the library counts references inside its compare-and-swap.
// libstdc++ 12 has a race here by the letter: `_Sp_atomic::load` (bits/shared_ptr_atomic.h) reads the pointer, which is no
// atomic, and unlocks with `memory_order_relaxed`, so the next writer's store does not come after it.
// Expect: clean
// Flags: -std=c++20
// Options: --races off
#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

struct Pair {
    int one, two;
    explicit Pair(int value) : one(value), two(2 * value) {}
};

static std::atomic<std::shared_ptr<Pair>> current{std::make_shared<Pair>(1)};

static void check(const Pair &pair) {
    if (pair.two != 2 * pair.one)
        std::abort();
}

static void reader() {
    auto held = current.load();
    check(*held);
    std::weak_ptr<Pair> weak = held;
    held.reset();
    if (auto again = weak.lock())
        check(*again);
}

static void writer() {
    auto next = std::make_shared<Pair>(2);
    auto expected = current.load();
    while (!current.compare_exchange_weak(expected, next)) {
    }
}

int main() {
    std::thread one(reader), two(writer);
    one.join();
    two.join();
    return current.load()->one != 2;
}
