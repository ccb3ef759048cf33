// Four threads with atomics, locks, allocation, and everything that differs between runs: addresses, clocks, random
// bytes, process and thread numbers. All of it goes into one number, which must be the same for the same seed.
// Expect: clean
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdint>
#include <mutex>
#include <set>
#include <sys/random.h>
#include <thread>
#include <unistd.h>
#include <vector>

std::mutex lock;
std::set<int *> allocations;
std::atomic<std::uint64_t> mixed{0};

void mix(std::uint64_t value) {
    std::uint64_t old = mixed.load(std::memory_order_relaxed);
    while (!mixed.compare_exchange_weak(old, old * 31 + value, std::memory_order_relaxed)) {
    }
}

void work(int me) {
    int *mine = new int(me);
    mix(reinterpret_cast<std::uintptr_t>(mine));
    {
        std::lock_guard<std::mutex> guard(lock);
        allocations.insert(mine);
    }
    std::uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) == sizeof random)
        mix(random);
    mix(std::chrono::steady_clock::now().time_since_epoch().count());
    mix(gettid() - getpid());
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back(work, i);
    for (std::thread &thread : threads)
        thread.join();
    for (int *allocation : allocations)
        delete allocation;
    std::printf("%zu %llx\n", allocations.size(), static_cast<unsigned long long>(mixed.load()));
    return allocations.size() != 4;
}
