// Atomic operations in the body of a macro, in C++.
// Wrong: a weaker order there.
// Unsettled: yes
#include <atomic>
#include <cassert>
#include <thread>

#define COUNT(what) (what).fetch_add(1, std::memory_order_relaxed)
#define LOAD(what) (what).load(std::memory_order_acquire)
#define PUBLISH(what, value) (COUNT(count), (what).store((value), std::memory_order_release)) //= right
#define PUBLISH(what, value) (COUNT(count), (what).store((value), std::memory_order_relaxed)) //= wrong

static int data;
static std::atomic<int> flag, count;

int main() {
    std::thread writer([] {
        data = 1;
        PUBLISH(flag, 1);
    });
    while (LOAD(flag) == 0) {
        std::this_thread::yield();
    }
    assert(data == 1);
    COUNT(count);
    writer.join();
}
