// A seqlock (Boehm 2012): two words that readers must see together.
// Wrong: without its fences a reader may take half of a change for a whole one. Right: with them.
// Expect: assertion
#include <atomic>
#include <cassert>
#include <thread>

std::atomic<unsigned> sequence{0};
std::atomic<int> first{0}, second{0};

void fence(std::memory_order order) {
#ifndef BUGGY
    std::atomic_thread_fence(order);
#else
    (void)order;
#endif
}

void write(int value) {
    unsigned before = sequence.load(std::memory_order_relaxed);
    sequence.store(before + 1, std::memory_order_relaxed);
    fence(std::memory_order_release);
    first.store(value, std::memory_order_relaxed);
    second.store(value, std::memory_order_relaxed);
    sequence.store(before + 2, std::memory_order_release);
}

void read() {
    for (int tries = 0; tries < 3; ++tries) {
        unsigned before = sequence.load(std::memory_order_acquire);
        int a = first.load(std::memory_order_relaxed);
        int b = second.load(std::memory_order_relaxed);
        fence(std::memory_order_acquire);
        unsigned after = sequence.load(std::memory_order_relaxed);
        if (before == after && before % 2 == 0) {
            assert(a == b);
            return;
        }
    }
}

int main() {
    std::thread writer([] {
        write(1);
        write(2);
    });
    std::thread reader(read);
    writer.join();
    reader.join();
    return 0;
}
