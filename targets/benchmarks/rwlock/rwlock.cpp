// A readers-writer spinlock whose writers do not acquire, d = 2.
//
// Threads: three; each reads, writes, reads and writes under the lock: two relaxed variables that are always equal.
// Orders: as in linuxrwlocks; each attempt to lock acquires.
// Bug: the attempts of write_lock are relaxed. A writer's stores are then not ordered after those of the writer before
// it, so that its store to `data1` may come after the other's in modification order and its store to `data2` before. A
// reader then finds two different values: an assertion.
// Depth: 2. A reader must see one store of each of two writers.

#include <atomic>
#include <cassert>
#include <sched.h>
#include <thread>

#include "../inserted.h"

using namespace std;

constexpr int bias = 0x100000;
static atomic<int> word{bias};

#ifdef BUGGY
constexpr memory_order writers_order = memory_order_relaxed;
#else
constexpr memory_order writers_order = memory_order_acquire;
#endif

static void read_lock() {
    while (word.fetch_sub(1, memory_order_acquire) <= 0) {
        word.fetch_add(1, memory_order_relaxed);
        while (word.load(memory_order_relaxed) <= 0)
            sched_yield();
    }
}

static void read_unlock() { word.fetch_add(1, memory_order_release); }

static void write_lock() {
    while (word.fetch_sub(bias, writers_order) != bias) {
        word.fetch_add(bias, memory_order_relaxed);
        while (word.load(memory_order_relaxed) != bias)
            sched_yield();
    }
}

static void write_unlock() { word.fetch_add(bias, memory_order_release); }

static atomic<int> data1{0}, data2{0};

static void worker() {
    inserted_writes();
    for (int i = 0; i < 4; i++) {
        if (i % 2 == 0) {
            read_lock();
            int first = data1.load(memory_order_relaxed);
            int second = data2.load(memory_order_relaxed);
            read_unlock();
            assert(first == second);
        } else {
            write_lock();
            data1.store(i, memory_order_relaxed);
            data2.store(i, memory_order_relaxed);
            write_unlock();
        }
    }
}

int main() {
    thread a(worker), b(worker), c(worker);
    a.join();
    b.join();
    c.join();
    return 0;
}
