// Names for orders, in C++.
// Wrong: the names stand for weaker ones.
// Unsettled: yes
#include <atomic>
#include <cassert>
#include <thread>

constexpr auto rlx = std::memory_order_relaxed;
constexpr std::memory_order publishing = std::memory_order_release; //= right
constexpr std::memory_order publishing = rlx; //= wrong

static int data;
static std::atomic<int> flag, count;

int main() {
    std::thread writer([] {
        count.fetch_add(1, rlx);
        data = 1;
        flag.store(1, publishing);
    });
    count.fetch_add(1, rlx);
    while (flag.load(std::memory_order_acquire) == 0) {
        std::this_thread::yield();
    }
    assert(data == 1);
    writer.join();
}
