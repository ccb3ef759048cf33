// A test-and-set lock that counts how often it was not free: each round of the wait changes memory.
// Wrong: the lock is taken and given back relaxed. Right: with acquire and release.
// Expect: race
#include <atomic>
#include <cassert>
#include <thread>

#ifdef BUGGY
constexpr auto TAKE = std::memory_order_relaxed, GIVE = std::memory_order_relaxed;
#else
constexpr auto TAKE = std::memory_order_acquire, GIVE = std::memory_order_release;
#endif

static std::atomic<int> taken{0};
static std::atomic<long> contended{0};
static int data;

static void work() {
    for (int i = 0; i < 2; i++) {
        while (taken.exchange(1, TAKE)) {
            contended.fetch_add(1, std::memory_order_relaxed);
        }
        data++;
        taken.store(0, GIVE);
    }
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
    assert(data == 4);
    return 0;
}
