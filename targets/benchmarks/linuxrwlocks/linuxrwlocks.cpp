// Linux's readers-writer spinlock, d = 2.
//
// Threads: two; each takes the lock to read, then to write, the plain variable `shared`.
// Orders: the lock word is counted down with acquire to lock and up with release to unlock; the undoing of a failed
// attempt and the wait are relaxed.
// Bug: the second attempt of both kinds of lock is relaxed, so that who waited does not see what was done under the
// lock. A race on `shared`.
// Depth: 2. The thread in the lock must be interrupted there, so that the other's first attempt fails (a read-modify-
// write reads the newest value without any choice, but the thread must run there: one event), and the wait must see it
// unlocked.

#include <atomic>
#include <cstdlib>
#include <sched.h>
#include <thread>

#include "../inserted.h"

using namespace std;

/// Unlocked. Each reader takes one, a writer takes all.
constexpr int bias = 0x100000;
static atomic<int> word{bias};

static void read_lock() {
    int before = word.fetch_sub(1, memory_order_acquire);
    while (before <= 0) {
        word.fetch_add(1, memory_order_relaxed);
        while (word.load(memory_order_relaxed) <= 0)
            sched_yield();
#ifdef BUGGY
        before = word.fetch_sub(1, memory_order_relaxed);
#else
        before = word.fetch_sub(1, memory_order_acquire);
#endif
    }
}

static void read_unlock() { word.fetch_add(1, memory_order_release); }

static void write_lock() {
    int before = word.fetch_sub(bias, memory_order_acquire);
    while (before != bias) {
        word.fetch_add(bias, memory_order_relaxed);
        while (word.load(memory_order_relaxed) != bias)
            sched_yield();
#ifdef BUGGY
        before = word.fetch_sub(bias, memory_order_relaxed);
#else
        before = word.fetch_sub(bias, memory_order_acquire);
#endif
    }
}

static void write_unlock() { word.fetch_add(bias, memory_order_release); }

int shared; // not static: compilers know too much about what nobody else can see

static void worker(int value) {
    inserted_writes();
    read_lock();
    int seen = shared;
    read_unlock();
    if (seen < 0 || seen > 2)
        abort();
    write_lock();
    sched_yield();
    shared = value;
    write_unlock();
}

int main() {
    thread a(worker, 1), b(worker, 2);
    a.join();
    b.join();
    return 0;
}
