// A bounded queue for many producers and consumers, d = 2.
//
// Threads: two; each writes one element and then takes elements until it finds none. main has written one before.
// Orders: who claims a slot reads with acquire and claims with acq_rel (to write) or acquire (to read); `read` and
// `written` are counted up with release and waited for with acquire.
// Bug: `written` is counted up relaxed, so that who waits for it does not see the element. A race on the slot.
// Depth: 2. The other thread's claim of a slot must be seen, by the read of `rdwr`, and the count of `written` that
// comes with it.

#include <atomic>
#include <cstdlib>
#include <sched.h>
#include <thread>

#include "../inserted.h"

using namespace std;

#ifdef BUGGY
constexpr memory_order publish_order = memory_order_relaxed;
#else
constexpr memory_order publish_order = memory_order_release;
#endif

constexpr unsigned slots = 4;
int ring[slots];

/// How many slots were claimed to be read (upper half) and to be written (lower half).
static atomic<unsigned> rdwr{0};
/// How many of the claims were made good.
static atomic<unsigned> read_count{0}, written_count{0};

static int *prepare() {
    unsigned claims = rdwr.load(memory_order_acquire);
    unsigned rd, wr;
    for (;;) {
        rd = claims >> 16;
        wr = claims & 0xffff;
        if (wr == rd + slots)
            return nullptr;
        if (rdwr.compare_exchange_weak(claims, claims + 1, memory_order_acq_rel, memory_order_relaxed))
            break;
        sched_yield();
    }
    while (read_count.load(memory_order_acquire) != rd)
        sched_yield();
    return &ring[wr % slots];
}

static void publish() { written_count.fetch_add(1, publish_order); }

static int *fetch() {
    unsigned claims = rdwr.load(memory_order_acquire);
    unsigned rd, wr;
    for (;;) {
        rd = claims >> 16;
        wr = claims & 0xffff;
        if (wr == rd)
            return nullptr;
        if (rdwr.compare_exchange_weak(claims, claims + (1 << 16), memory_order_acquire, memory_order_relaxed))
            break;
        sched_yield();
    }
    while (written_count.load(memory_order_acquire) != wr)
        sched_yield();
    return &ring[rd % slots];
}

static void consume() { read_count.fetch_add(1, memory_order_release); }

static void put(int value) {
    if (int *slot = prepare()) {
        *slot = value;
        publish();
    }
}

static void worker(int value) {
    inserted_writes();
    put(value);
    while (int *slot = fetch()) {
        if (*slot < 17 || *slot > 19)
            abort();
        consume();
    }
}

int main() {
    put(17);
    thread a(worker, 18), b(worker, 19);
    a.join();
    b.join();
    return 0;
}
