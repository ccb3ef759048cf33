// Everything that waits with a limit: a condition, a timed mutex, a semaphore, sleeps. Clocks must agree with the waits.
// Expect: clean
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <semaphore.h>
#include <thread>

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

std::mutex lock;
std::timed_mutex held;
std::condition_variable changed;
bool ready;

void wait_in_vain() {
    auto start = Clock::now();
    std::unique_lock<std::mutex> guard(lock);
    bool never = changed.wait_for(guard, 2ms, [] { return false; });
    assert(!never && Clock::now() - start >= 2ms);
    guard.unlock();
    bool locked = held.try_lock_for(2ms);
    assert(!locked && Clock::now() - start >= 4ms);
}

void wait_for_it() {
    std::unique_lock<std::mutex> guard(lock);
    assert(changed.wait_for(guard, 100s, [] { return ready; }));
}

int main() {
    held.lock();
    std::thread vain(wait_in_vain), waiter(wait_for_it);
    std::this_thread::sleep_for(1ms);
    {
        std::lock_guard<std::mutex> guard(lock);
        ready = true;
    }
    changed.notify_all();
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_nsec = (limit.tv_nsec + 1'000'000) % 1'000'000'000;
    limit.tv_sec += limit.tv_nsec < 1'000'000;
    assert(sem_timedwait(&semaphore, &limit) != 0);
    vain.join();
    waiter.join();
    held.unlock();
    return 0;
}
