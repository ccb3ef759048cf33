// Thread-local variables: each thread has its own, made on first use and destroyed at its end.
// Expect: clean
#include <atomic>
#include <cassert>
#include <thread>

std::atomic<int> made{0}, destroyed{0};

struct Counter {
    int value = 0;
    Counter() { made.fetch_add(1); }
    ~Counter() { destroyed.fetch_add(1); }
};

thread_local Counter counter;

void work(int rounds) {
    for (int i = 0; i < rounds; ++i)
        counter.value += 1;
    assert(counter.value == rounds);
}

int main() {
    std::thread first(work, 2), second(work, 3);
    first.join();
    second.join();
    assert(made == 2 && destroyed == 2);
    return 0;
}
