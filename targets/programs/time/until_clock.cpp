// Threads that work until the clock shows a time: a tenth of a second, and two seconds, by different clocks.
// Expect: clean
// Flags: -std=c++17
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <time.h>

static std::atomic<long> done;

static void by_chrono(std::chrono::milliseconds time) {
    auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end)
        done.fetch_add(1, std::memory_order_relaxed);
}

static void by_system_call(long milliseconds) {
    struct timespec it;
    clock_gettime(CLOCK_REALTIME, &it);
    long long end = it.tv_sec * 1000LL + it.tv_nsec / 1000000 + milliseconds;
    do {
        done.fetch_add(1, std::memory_order_relaxed);
        clock_gettime(CLOCK_REALTIME, &it);
    } while (it.tv_sec * 1000LL + it.tv_nsec / 1000000 < end);
}

int main() {
    // A few looks tell that a few looks take no time.
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 100; ++i)
        if (std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(1))
            std::abort();
    std::thread one([] { by_chrono(std::chrono::milliseconds(100)); });
    std::thread two([] { by_system_call(100); });
    one.join();
    two.join();
    std::thread three([] { by_chrono(std::chrono::seconds(2)); });
    by_system_call(2000);
    three.join();
    return done > 100 ? 0 : 1;
}
