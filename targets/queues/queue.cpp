// moodycamel's ConcurrentQueue as Debian packages it, Concurrency Kit (locks.c), and two atomics whose orders the test
// knows.
#include <atomic>
#include <concurrentqueue/concurrentqueue.h>
#include <cstdio>
#include <thread>

extern "C" unsigned locked();
extern "C" unsigned added();
extern "C" void *passed(void *value);

static moodycamel::ConcurrentQueue<int> queue;
static std::atomic<bool> ready;

__attribute__((noinline)) void announce() { ready.store(true, std::memory_order_release); }
__attribute__((noinline)) bool announced() { return ready.load(std::memory_order_acquire); }

int main() {
    std::thread other([] {
        while (!announced()) std::this_thread::yield();
        for (int i = 0; i < 100; i++) queue.enqueue(i);
    });
    announce();
    int value, sum = 0;
    for (int found = 0; found < 100;)
        if (queue.try_dequeue(value)) sum += value, found++;
    other.join();
    std::printf("%d %u %d\n", sum, locked() + added(), passed(&sum) == &sum);
}
