// Michael and Scott's queue on an array of nodes, d = 0.
//
// Threads: two; each enqueues its own number and dequeues once.
// Orders: loads acquire, compare-and-swaps release (relaxed when they fail), a new node's `next` release.
// Bug: "as much use as possible of relaxed atomics" (thesis §7.1): all loads and the store to a new node's `next` are
// relaxed. Who follows a pointer to the other thread's node then does not see that node's value: a race on it.
// Depth: 0. The queue is linked by compare-and-swaps, which see the newest value without being asked to: the second
// thread's fails and tells it of the first one's node, whose value it then reads.
// (A relaxed new `next` and a relaxed `tail` in dequeue are no bug here: see ../README.md.)

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <sched.h>
#include <thread>

#include "../inserted.h"

using namespace std;

#ifdef BUGGY
constexpr memory_order init_order = memory_order_relaxed;
constexpr memory_order load_order = memory_order_relaxed;
#else
constexpr memory_order init_order = memory_order_release;
constexpr memory_order load_order = memory_order_acquire;
#endif

/// A node's number (0: none), and how often the variable was written, so that an old value is not taken for a new one.
typedef uint64_t Pointer;

static uint32_t node_of(Pointer p) { return static_cast<uint32_t>(p); }
static Pointer pointer(uint32_t node, Pointer before) { return ((before >> 32) + 1) << 32 | node; }

struct Node {
    int value;
    atomic<Pointer> next;
};

/// Node 1 is the first dummy.
static Node nodes[4];
static atomic<Pointer> head{1}, tail{1};

static void enqueue(uint32_t node, int value) {
    Node &mine = nodes[node];
    mine.value = value;
    mine.next.store(pointer(0, mine.next.load(memory_order_relaxed)), init_order);

    Pointer last;
    for (;;) {
        last = tail.load(load_order);
        Pointer next = nodes[node_of(last)].next.load(load_order);
        if (last != tail.load(load_order))
            continue;
        if (node_of(next) == 0) {
            if (nodes[node_of(last)].next.compare_exchange_strong(next, pointer(node, next), memory_order_release,
                                                                  memory_order_relaxed))
                break;
        } else {
            tail.compare_exchange_strong(last, pointer(node_of(next), last), memory_order_release,
                                         memory_order_relaxed);
        }
        sched_yield();
    }
    tail.compare_exchange_strong(last, pointer(node, last), memory_order_release, memory_order_relaxed);
}

/// 0 if it finds nothing.
static int dequeue() {
    for (;;) {
        Pointer first = head.load(load_order);
        Pointer last = tail.load(load_order);
        Pointer next = nodes[node_of(first)].next.load(load_order);
        if (first == head.load(load_order)) {
            if (node_of(first) == node_of(last)) {
                if (node_of(next) == 0)
                    return 0;
                tail.compare_exchange_strong(last, pointer(node_of(next), last), memory_order_release,
                                             memory_order_relaxed);
            } else {
                int value = nodes[node_of(next)].value;
                if (head.compare_exchange_strong(first, pointer(node_of(next), first), memory_order_release,
                                                 memory_order_relaxed))
                    return value;
            }
        }
        sched_yield();
    }
}

static int results[2];

static void worker(int which) {
    inserted_writes();
    enqueue(2 + which, 17 + which);
    results[which] = dequeue();
}

int main() {
    thread a(worker, 0), b(worker, 1);
    a.join();
    b.join();
    if (results[0] + results[1] != 17 + 18 || results[0] == results[1])
        abort();
    return 0;
}
