// The work-stealing deque of Chase and Lev, in C11 by Lê, Pop, Cohen and Zappa Nardelli (PPoPP 2013), d = 1.
//
// Threads: main pushes 1 and 2, starts a thief that steals once, pushes 4 and takes twice. The array has two places at
// first, so the third push makes a larger one.
// Orders: theirs. push publishes with a release fence; take and steal have a seq_cst fence between `bottom` and `top`,
// and claim with a seq_cst compare-and-swap.
// Bug: the larger array is published relaxed and its pointer read relaxed (as in the paper's figure: Norris and Demsky,
// OOPSLA 2013). The thief may then have the new array and not what is in it: a load of uninitialised memory, or a
// division by the size 0.
// Depth: 1, the thief's read of the pointer. That there is something to steal it knows from its start. Its
// seq_cst fence must come before those of main's takes, which would tell it the contents.

#include <atomic>
#include <cstdlib>
#include <initializer_list>
#include <thread>

#include "../inserted.h"

using namespace std;

#ifdef BUGGY
constexpr memory_order publish_order = memory_order_relaxed;
constexpr memory_order array_order = memory_order_relaxed;
#else
constexpr memory_order publish_order = memory_order_release;
constexpr memory_order array_order = memory_order_acquire;
#endif

struct Array {
    atomic<size_t> size;
    atomic<int> buffer[];
};

constexpr int empty = -1, aborted = -2;

static atomic<size_t> top{0}, bottom{0};
static atomic<Array *> current;

/// Its contents are uninitialised.
static Array *new_array(size_t size) {
    Array *a = static_cast<Array *>(malloc(sizeof(Array) + size * sizeof(atomic<int>)));
    if (!a)
        abort();
    a->size.store(size, memory_order_relaxed);
    return a;
}

/// The old array stays: a thief may still read it.
static void resize() {
    Array *a = current.load(memory_order_relaxed);
    size_t old_size = a->size.load(memory_order_relaxed);
    size_t new_size = old_size * 2;
    Array *larger = new_array(new_size);
    size_t t = top.load(memory_order_relaxed);
    size_t b = bottom.load(memory_order_relaxed);
    for (size_t i = t; i < b; i++)
        larger->buffer[i % new_size].store(a->buffer[i % old_size].load(memory_order_relaxed), memory_order_relaxed);
    current.store(larger, publish_order);
}

static void push(int x) {
    size_t b = bottom.load(memory_order_relaxed);
    size_t t = top.load(memory_order_acquire);
    Array *a = current.load(memory_order_relaxed);
    if (b - t > a->size.load(memory_order_relaxed) - 1) {
        resize();
        a = current.load(memory_order_relaxed);
    }
    a->buffer[b % a->size.load(memory_order_relaxed)].store(x, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    bottom.store(b + 1, memory_order_relaxed);
}

static int take() {
    size_t b = bottom.load(memory_order_relaxed) - 1;
    Array *a = current.load(memory_order_relaxed);
    bottom.store(b, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    size_t t = top.load(memory_order_relaxed);
    if (t > b) {
        bottom.store(b + 1, memory_order_relaxed);
        return empty;
    }
    int x = a->buffer[b % a->size.load(memory_order_relaxed)].load(memory_order_relaxed);
    if (t == b) {
        // The last one: a thief may be after it too.
        if (!top.compare_exchange_strong(t, t + 1, memory_order_seq_cst, memory_order_relaxed))
            x = empty;
        bottom.store(b + 1, memory_order_relaxed);
    }
    return x;
}

static int steal() {
    size_t t = top.load(memory_order_acquire);
    atomic_thread_fence(memory_order_seq_cst);
    size_t b = bottom.load(memory_order_acquire);
    if (t >= b)
        return empty;
    Array *a = current.load(array_order);
    int x = a->buffer[t % a->size.load(memory_order_relaxed)].load(memory_order_relaxed);
    if (!top.compare_exchange_strong(t, t + 1, memory_order_seq_cst, memory_order_relaxed))
        return aborted;
    return x;
}

static int stolen;

static void thief() {
    inserted_writes();
    stolen = steal();
}

int main() {
    current.store(new_array(2), memory_order_relaxed);
    push(1);
    push(2);
    thread other(thief);
    inserted_writes();
    push(4);
    int taken[] = {take(), take()};
    other.join();

    int all = 0;
    for (int value : {taken[0], taken[1], stolen}) {
        if (value == empty || value == aborted)
            continue;
        if ((value != 1 && value != 2 && value != 4) || (all & value))
            abort();
        all |= value;
    }
    return 0;
}
