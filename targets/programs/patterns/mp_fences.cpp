// Message passing of plain data by relaxed accesses and fences.
// Wrong: no fences. Right: a release fence before the flag's store, an acquire fence after its load.
// Expect: race
#include <atomic>
#include <thread>

int data;
std::atomic<bool> flag{false};

void send() {
    data = 42;
#ifndef BUGGY
    std::atomic_thread_fence(std::memory_order_release);
#endif
    flag.store(true, std::memory_order_relaxed);
}

int main() {
    std::thread sender(send);
    while (!flag.load(std::memory_order_relaxed)) {
    }
#ifndef BUGGY
    std::atomic_thread_fence(std::memory_order_acquire);
#endif
    int seen = data;
    sender.join();
    return seen != 42;
}
