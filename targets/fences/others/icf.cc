// As icf.c, in C++: instances of a template, and functions with a fence and without.
// Wrong: the relaxed function publishes. That may go unnoticed.
// Unsettled: yes
// Values LD: gold | lld
// Flags: -ffunction-sections -fuse-ld=LD -Wl,--icf=all
// Levels: O0 O1 O2 O3 Os
#include <atomic>
#include <cassert>
#include <thread>

template <std::memory_order Order>
__attribute__((noinline)) static void set(std::atomic<int> &what, int value) {
    what.store(value, Order);
}

__attribute__((noinline)) static int get(std::atomic<int> &what) {
    return what.load(std::memory_order_relaxed);
}

__attribute__((noinline)) static int get_and_fence(std::atomic<int> &what) {
    int value = what.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    return value;
}

static int data;
static std::atomic<int> flag, count;

int main() {
    std::thread writer([] {
        set<std::memory_order_relaxed>(count, get(count) + 1);
        data = 1;
        set<std::memory_order_release>(flag, 1); //= right
        set<std::memory_order_relaxed>(flag, 1); //= wrong
    });
    set<std::memory_order_relaxed>(count, get(count) + 1);
    set<std::memory_order_release>(count, get(count) + 1);
    while (get_and_fence(flag) == 0) {
        std::this_thread::yield();
    }
    assert(data == 1);
    writer.join();
}
