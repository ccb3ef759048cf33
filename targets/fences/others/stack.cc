// An atomic that is a member of an object on the stack, at several offsets, captured by reference.
// Wrong: the flag is relaxed, and the accesses to the data race.
// Values BEFORE: | long before = 0; | char before[4000] = {};
#include <atomic>
#include <cassert>
#include <thread>

struct Shared {
    BEFORE
    std::atomic<int> flag{0};
    std::atomic<int> count{0};
    int data = 0;
};

int main() {
    Shared shared;
    std::thread other([&shared] {
        shared.count.fetch_add(1, std::memory_order_relaxed);
        shared.data = 1;
        shared.flag.store(1, std::memory_order_release); //= right
        shared.flag.store(1, std::memory_order_relaxed); //= wrong
    });
    int before = shared.count.load(std::memory_order_relaxed);
    shared.count.store(before + 1, std::memory_order_relaxed);
    while (shared.flag.load(std::memory_order_acquire) == 0) {
        std::this_thread::yield();
    }
    assert(shared.data == 1);
    other.join();
}
