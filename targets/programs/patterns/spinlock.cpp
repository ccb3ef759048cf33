// A test-and-set spin lock around a plain counter.
// Wrong: relaxed, so nothing in one critical section happens before the next. Right: acquire and release.
// Expect: race
#include <atomic>
#include <thread>

#ifdef BUGGY
constexpr auto take = std::memory_order_relaxed, give = std::memory_order_relaxed;
#else
constexpr auto take = std::memory_order_acquire, give = std::memory_order_release;
#endif

std::atomic_flag held = ATOMIC_FLAG_INIT;
int counter;

void add() {
    for (int i = 0; i < 2; ++i) {
        while (held.test_and_set(take)) {
        }
        counter += 1;
        held.clear(give);
    }
}

int main() {
    std::thread first(add), second(add);
    first.join();
    second.join();
    return counter != 4;
}
