// The queue lock of Mellor-Crummey and Scott, d = 1.
//
// Threads: two, each twice in the lock; one writes `shared` and then reads it, the other reads first.
// Orders: exchange and compare-and-swap of the tail acq_rel, hand-over release; what nobody else can see yet relaxed.
// Bug: the two waits, on one's gate in lock() and on one's next node in unlock(), are relaxed, so that who waited for
// the lock does not see what its predecessor did under it. A race on `shared`.
// Depth: 1, the read of the gate that sees it open. (That a thread waits at all needs no communication event of its
// own: an exchange always reads the newest tail.)

#include <atomic>
#include <cstdlib>
#include <sched.h>
#include <thread>

#include "../inserted.h"

using namespace std;

#ifdef BUGGY
constexpr memory_order wait_order = memory_order_relaxed;
#else
constexpr memory_order wait_order = memory_order_acquire;
#endif

struct Node {
    atomic<Node *> next{nullptr};
    atomic<int> gate{0};
};

static atomic<Node *> tail{nullptr};

static void lock(Node &me) {
    me.next.store(nullptr, memory_order_relaxed);
    me.gate.store(1, memory_order_relaxed);
    Node *before = tail.exchange(&me, memory_order_acq_rel);
    if (before) {
        before->next.store(&me, memory_order_release);
        while (me.gate.load(wait_order))
            sched_yield();
    }
}

static void unlock(Node &me) {
    Node *next = me.next.load(memory_order_acquire);
    if (!next) {
        Node *last = &me;
        if (tail.compare_exchange_strong(last, nullptr, memory_order_acq_rel))
            return;
        while (!(next = me.next.load(wait_order)))
            sched_yield();
    }
    next->gate.store(0, memory_order_release);
}

int shared; // not static: compilers know too much about what nobody else can see
static Node node_a, node_b;

static void write_shared(Node &me) {
    lock(me);
    shared = 17;
    unlock(me);
}

static void read_shared(Node &me) {
    lock(me);
    int value = shared;
    unlock(me);
    if (value != 0 && value != 17)
        abort();
}

static void a() {
    inserted_writes();
    write_shared(node_a);
    read_shared(node_a);
}

static void b() {
    inserted_writes();
    read_shared(node_b);
    write_shared(node_b);
}

int main() {
    thread t(a), u(b);
    t.join();
    u.join();
    return 0;
}
