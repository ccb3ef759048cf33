// Fences that are chosen at run time, in C++.
// Wrong: the helper has no release fence.
// Unsettled: yes
#include <atomic>
#include <cassert>
#include <thread>

enum { ACQUIRE = 1, RELEASE, FULL };

static int data;
static std::atomic<int> flag;
static volatile int acquires = ACQUIRE, releases = RELEASE;

inline void chosen(int which) {
    switch (which) {
    case ACQUIRE:
        std::atomic_thread_fence(std::memory_order_acquire);
        break;
    case RELEASE:
        std::atomic_thread_fence(std::memory_order_release); //= right
        break;
    case FULL:
        std::atomic_thread_fence(std::memory_order_seq_cst);
        break;
    }
}

static void writer() {
    data = 1;
    chosen(releases);
    flag.store(1, std::memory_order_relaxed);
}

int main() {
    std::thread thread(writer);
    int seen = flag.load(std::memory_order_relaxed);
    chosen(acquires);
    if (seen)
        assert(data == 1);
    thread.join();
}
