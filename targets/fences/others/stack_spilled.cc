// As stack.cc, with so many values alive that the object's address is spilled.
// Wrong: the flag is relaxed, and the accesses to the data race.
#include <atomic>
#include <cassert>
#include <thread>

struct Shared {
    std::atomic<int> flag{0};
    std::atomic<int> count{0};
    int data = 0;
};

__attribute__((noinline)) static long value(long n) {
    asm volatile("" : "+r"(n));
    return n;
}

__attribute__((noinline)) static long use(Shared &shared, int last) {
    long a = value(1), b = value(2), c = value(3), d = value(4), e = value(5), f = value(6), g = value(7), h = value(8);
    shared.count.store(int(a), std::memory_order_relaxed);
    long i = value(9), j = value(10), k = value(11), l = value(12);
    while (shared.flag.load(std::memory_order_acquire) == 0) {
        std::this_thread::yield();
    }
    long m = value(13);
    int data = shared.data;
    shared.count.store(int(m), std::memory_order_relaxed);
    return a + b + c + d + e + f + g + h + i + j + k + l + m + data + last;
}

int main() {
    Shared shared;
    Shared *where = &shared;
    std::thread other([where] {
        where->count.fetch_add(1, std::memory_order_relaxed);
        where->data = 1;
        where->flag.store(1, std::memory_order_release); //= right
        where->flag.store(1, std::memory_order_relaxed); //= wrong
    });
    assert(use(shared, 1) == 93);
    shared.count.store(2, std::memory_order_relaxed);
    other.join();
}
