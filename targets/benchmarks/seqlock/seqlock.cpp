// A sequence lock, d = 3.
//
// Threads: two writers (of 3 and of 2) and a reader; everything is atomic.
// Orders: a writer reads `seq` with acquire and claims it with acq_rel, writes the data with release and counts `seq`
// up with release. The reader reads with acquire, and `seq` again relaxed.
// Bug: a writer reads and claims `seq` relaxed. Its stores are then not ordered after those of the writer before it, so
// that `data1` may come from one writer and `data2` from the other although both are done: an assertion.
// Depth: 3. The second writer must see the first one's end, and the reader the second one's end and both data.

#include <atomic>
#include <cassert>
#include <sched.h>
#include <thread>

#include "../inserted.h"

using namespace std;

#ifdef BUGGY
constexpr memory_order load_order = memory_order_relaxed;
constexpr memory_order claim_order = memory_order_relaxed;
#else
constexpr memory_order load_order = memory_order_acquire;
constexpr memory_order claim_order = memory_order_acq_rel;
#endif

/// Odd while somebody writes.
static atomic<int> seq{0};
static atomic<int> data1{0}, data2{0};

static void writer(int value) {
    inserted_writes();
    for (;;) {
        int before = seq.load(load_order);
        if (before % 2 == 0 &&
            seq.compare_exchange_strong(before, before + 1, claim_order, memory_order_relaxed))
            break;
        sched_yield();
    }
    data1.store(value, memory_order_release);
    data2.store(value, memory_order_release);
    seq.fetch_add(1, memory_order_release);
}

static void reader() {
    inserted_writes();
    for (;;) {
        int before = seq.load(memory_order_acquire);
        if (before % 2 == 0) {
            int first = data1.load(memory_order_acquire);
            int second = data2.load(memory_order_acquire);
            if (seq.load(memory_order_relaxed) == before) {
                assert(first == second);
                return;
            }
        }
        sched_yield();
    }
}

int main() {
    thread a(writer, 3), b(writer, 2), c(reader);
    a.join();
    b.join();
    c.join();
    return 0;
}
