// Publishes a value: the fence has no instruction on x86-64, and the flag's orders are invisible in the code.
#include <atomic>

int data;
std::atomic<int> flag;

void publish(int value) {
    data = value;
    std::atomic_thread_fence(std::memory_order_release);
    flag.store(1, std::memory_order_relaxed);
}

int consume() {
    return flag.load(std::memory_order_acquire) ? data : -1;
}

int main() {
    publish(42);
    return consume() != 42;
}
