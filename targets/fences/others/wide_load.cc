// Comparisons of two members that compilers make of one wide load, although the source looks at the second member only if
// the first one is the same.
// Wrong: the other thread writes the first one. As the load may be two of the source, its race may be only possible.
// Unsettled: yes
// Values WHICH: a.first == b.first && a.second == b.second | a.first == 1 && a.second == 2
#include <atomic>
#include <cassert>
#include <thread>

struct Pair {
    int first, second;
};

__attribute__((noinline)) bool same(const Pair &a, const Pair &b) {
    (void)b;
    return WHICH;
}

static Pair shared{0, 0};
static std::atomic<int> flag;

int main() {
    Pair other{1, 2};
    std::thread writer([&] {
        shared.second = 2; //= right
        shared.first = 1; //= wrong
        flag.store(1, std::memory_order_release);
    });
    std::thread reader([&] { assert(!same(shared, other)); });
    writer.join();
    reader.join();
    return 0;
}
