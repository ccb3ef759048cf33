// Several statements on a line, in C++, with fences among them.
// Wrong: no acquire fence.
#include <atomic>
#include <cassert>
#include <thread>

static int data;
static std::atomic<int> flag, count;

int main() {
    std::thread writer([] { data = 1; std::atomic_thread_fence(std::memory_order_release); flag.store(1, std::memory_order_relaxed); });
    count.fetch_add(1, std::memory_order_relaxed); while (flag.load(std::memory_order_relaxed) == 0) { std::this_thread::yield(); } std::atomic_thread_fence(std::memory_order_acquire); assert(data == 1); //= right
    count.fetch_add(1, std::memory_order_relaxed); while (flag.load(std::memory_order_relaxed) == 0) { std::this_thread::yield(); } assert(data == 1); //= wrong
    writer.join();
}
