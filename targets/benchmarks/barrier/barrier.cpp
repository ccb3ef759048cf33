// A spinning barrier, d = 1.
//
// Threads: one that writes `var` and then waits, three that wait and then read it.
// Orders: everything seq_cst, but see the bug.
// Bug: the last to arrive opens the barrier with a relaxed increment, which releases nothing: who spins and sees it
// does not see what was written before the others arrived. A race on `var`.
// Depth: 1, the read of `step` that sees the increment. Arriving is a seq_cst read-modify-write, so who arrives after
// the writer is ordered after it anyway, and there is a race only if a reader arrives before the writer. Of the four
// positions that the writer can arrive in three have that: 3/4 of the executions if all orders are as likely.

#include <atomic>
#include <cstdlib>
#include <sched.h>
#include <thread>

#include "../inserted.h"

using namespace std;

#ifdef BUGGY
constexpr memory_order open_order = memory_order_relaxed;
#else
constexpr memory_order open_order = memory_order_seq_cst;
#endif

class Barrier {
    const unsigned n;
    atomic<unsigned> nwait{0}, step{0};

  public:
    explicit Barrier(unsigned n) : n(n) {}

    void wait() {
        unsigned before = step.load();
        if (nwait.fetch_add(1) == n - 1) {
            nwait.store(0);
            step.fetch_add(1, open_order);
        } else {
            while (step.load() == before)
                sched_yield();
        }
    }
};

static Barrier barrier(4);
int var; // not static: compilers know too much about what nobody else can see

static void writer() {
    inserted_writes();
    var = 1;
    barrier.wait();
}

static void reader() {
    inserted_writes();
    barrier.wait();
    if (var != 1)
        abort();
}

int main() {
    thread a(writer), b(reader), c(reader), d(reader);
    a.join();
    b.join();
    c.join();
    d.join();
    return 0;
}
