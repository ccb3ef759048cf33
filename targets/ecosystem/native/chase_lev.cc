// Chase and Lev's deque with the fences of Lê, Pop, Cohen and Zappa Nardelli (PPoPP 2013), of fixed size.
#include <atomic>
#include <cassert>
#include <thread>

static std::atomic<long> top{0}, bottom{0};
static std::atomic<int> slots[8];

static void push(int value) {
    long b = bottom.load(std::memory_order_relaxed);
    slots[b % 8].store(value, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    bottom.store(b + 1, std::memory_order_relaxed);
}

static int take() {
    long b = bottom.load(std::memory_order_relaxed) - 1;
    bottom.store(b, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    long t = top.load(std::memory_order_relaxed);
    int value = 0;
    if (t <= b) {
        value = slots[b % 8].load(std::memory_order_relaxed);
        if (t == b) {
            if (!top.compare_exchange_strong(t, t + 1, std::memory_order_seq_cst, std::memory_order_relaxed))
                value = 0;
            bottom.store(b + 1, std::memory_order_relaxed);
        }
    } else {
        bottom.store(b + 1, std::memory_order_relaxed);
    }
    return value;
}

static int steal() {
    long t = top.load(std::memory_order_acquire);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    long b = bottom.load(std::memory_order_acquire);
    int value = 0;
    if (t < b) {
        value = slots[t % 8].load(std::memory_order_relaxed);
        if (!top.compare_exchange_strong(t, t + 1, std::memory_order_seq_cst, std::memory_order_relaxed))
            return 0;
    }
    return value;
}

// What is pushed is plain memory, which the fences publish.
static int values[4];

int main() {
    int stolen[2] = {0, 0};
    auto thief = [&](int me) {
        for (int i = 0; i < 2; i++)
            if (int at = steal())
                stolen[me] += values[at];
    };
    std::thread one(thief, 0), two(thief, 1);
    int sum = 0;
    for (int i = 1; i < 4; i++) {
        values[i] = i;
        push(i);
    }
    for (int i = 0; i < 3; i++)
        sum += values[take()];
    one.join();
    two.join();
    while (int at = take())
        sum += values[at];
    assert(sum + stolen[0] + stolen[1] == 6);
}
