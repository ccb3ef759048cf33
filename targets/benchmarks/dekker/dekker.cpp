// Dekker's mutual exclusion with fences, d = 0.
//
// Threads: p0 and p1, each once in the critical section, where it writes `var`.
// Orders: everything relaxed. A seq_cst fence between raising one's flag and looking at the other's; an acquire fence
// when entering and a release fence when leaving.
// Bug: p0's first seq_cst fence is missing, so that both may read the other's flag as it was at the beginning (store
// buffering), and both are in: a write-write race on `var`.
// Depth: 0. Both loads read what their own thread knows, the initial 0. No communication is needed, in any order of
// the threads.

#include <atomic>
#include <sched.h>
#include <thread>

#include "../inserted.h"

using namespace std;

static atomic<int> flag0{0}, flag1{0}, turn{0};
int var; // not static: compilers know too much about what nobody else can see

static void p0() {
    inserted_writes();
    flag0.store(1, memory_order_relaxed);
#ifndef BUGGY
    atomic_thread_fence(memory_order_seq_cst);
#endif
    while (flag1.load(memory_order_relaxed)) {
        if (turn.load(memory_order_relaxed) != 0) {
            flag0.store(0, memory_order_relaxed);
            while (turn.load(memory_order_relaxed) != 0)
                sched_yield();
            flag0.store(1, memory_order_relaxed);
            atomic_thread_fence(memory_order_seq_cst);
        } else {
            sched_yield();
        }
    }
    atomic_thread_fence(memory_order_acquire);

    var = 1;

    turn.store(1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    flag0.store(0, memory_order_relaxed);
}

static void p1() {
    inserted_writes();
    flag1.store(1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    while (flag0.load(memory_order_relaxed)) {
        if (turn.load(memory_order_relaxed) != 1) {
            flag1.store(0, memory_order_relaxed);
            while (turn.load(memory_order_relaxed) != 1)
                sched_yield();
            flag1.store(1, memory_order_relaxed);
            atomic_thread_fence(memory_order_seq_cst);
        } else {
            sched_yield();
        }
    }
    atomic_thread_fence(memory_order_acquire);

    var = 2;

    turn.store(0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    flag1.store(0, memory_order_relaxed);
}

int main() {
    thread a(p0), b(p1);
    a.join();
    b.join();
    return var == 0;
}
