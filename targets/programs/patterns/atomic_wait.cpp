// A thread waits for a value with std::atomic::wait.
// Wrong: the store is not followed by notify. Right: it is.
// The store is seq_cst because libstdc++'s notify looks for waiters after it: a release store could pass that look.
// Flags: -std=c++20
// Expect: deadlock
#include <atomic>
#include <thread>

std::atomic<int> state{0};
int data;

int main() {
    int seen = 0;
    std::thread waiter([&seen] {
        state.wait(0, std::memory_order_acquire);
        seen = data;
    });
    data = 42;
    state.store(1);
#ifndef BUGGY
    state.notify_one();
#endif
    waiter.join();
    return seen != 42;
}
