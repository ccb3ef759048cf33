// Dekker's entry protocol: each thread raises its flag, and enters only if the other's is down.
// Wrong: relaxed stores and loads without a fence let both enter. Right: a seq_cst fence in between.
// Expect: race
#include <atomic>
#include <thread>

std::atomic<int> flags[2];
int inside;

void enter(int me) {
    flags[me].store(1, std::memory_order_relaxed);
#ifndef BUGGY
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
    if (flags[1 - me].load(std::memory_order_relaxed) == 0)
        inside += 1;
}

int main() {
    std::thread first(enter, 0), second(enter, 1);
    first.join();
    second.join();
    return 0;
}
