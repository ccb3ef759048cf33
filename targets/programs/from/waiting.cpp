// A static constructor leaves threads behind that wait in all kinds of ways: they yield, sleep, read from a pipe, wait for a
// semaphore, hold a lock for reading. Others were there, and are gone. `main` lets them go on, and joins them.
// Expect: clean
// Flags: -std=c++20
// Options: --from main
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <mutex>
#include <sched.h>
#include <semaphore.h>
#include <shared_mutex>
#include <thread>
#include <unistd.h>

static std::atomic<int> ready{0}, finish{0};
static std::shared_mutex shared;
static int guarded, by_pipe, by_semaphore, by_nap;
static std::once_flag once;
static sem_t semaphore;
static int pipes[2];

struct Early {
    std::thread yields, naps, reads, holds, waits;

    Early() {
        if (sem_init(&semaphore, 0, 0) != 0 || pipe(pipes) != 0) abort();
        yields = std::thread([] {
            ready = 1;
            while (!finish.load(std::memory_order_acquire)) sched_yield();
        });
        while (ready.load() != 1) sched_yield();
        naps = std::thread([] {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            by_nap++;
        });
        holds = std::thread([] {
            std::shared_lock lock(shared);
            ready = 2;
            while (!finish.load(std::memory_order_acquire)) sched_yield();
            if (guarded != 0) abort();
        });
        while (ready.load() != 2) sched_yield();
        reads = std::thread([] {
            char byte;
            if (read(pipes[0], &byte, 1) != 1) abort();
            by_pipe++;
        });
        waits = std::thread([] {
            sem_wait(&semaphore);
            by_semaphore++;
        });
        std::call_once(once, [] {});
        if (std::async(std::launch::async, [] { return 7; }).get() != 7) abort();
    }
};

static Early early;

int main() {
    std::call_once(once, [] { abort(); });
    by_pipe = by_semaphore = 1;
    if (write(pipes[1], "x", 1) != 1) abort();
    sem_post(&semaphore);
    finish.store(1, std::memory_order_release);
    {
        std::unique_lock lock(shared);
        guarded = 1;
    }
    for (std::thread *thread : {&early.yields, &early.naps, &early.reads, &early.holds, &early.waits}) thread->join();
    return by_pipe == 2 && by_semaphore == 2 && by_nap == 1 ? 0 : 1;
}
