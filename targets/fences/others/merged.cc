// Two operations of different orders that g++ may make one instruction of.
// Wrong: both are weak.
// Compilers: g++
#include <atomic>
#include <cassert>
#include <thread>

static int data;
static std::atomic<int> flag{0};
static volatile bool quick = false;

__attribute__((noinline)) static int look(bool weak) {
    if (weak)
        return flag.load(std::memory_order_relaxed);
    else
        return flag.load(std::memory_order_acquire); //= right
        return flag.load(std::memory_order_relaxed); //= wrong
}

__attribute__((noinline)) static void publish(bool weak) {
    if (weak)
        flag.store(1, std::memory_order_relaxed);
    else
        flag.store(1, std::memory_order_release); //= right
        flag.store(1, std::memory_order_relaxed); //= wrong
}

int main() {
    std::thread writer([] {
        data = 1;
        publish(quick);
    });
    while (look(quick) == 0) {
        std::this_thread::yield();
    }
    assert(data == 1);
    writer.join();
    return 0;
}
