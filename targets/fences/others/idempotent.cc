// A read-modify-write that changes nothing is one all the same: it reads the newest value, and who comes after it in
// modification order synchronises with it. LLVM makes a fence and a load of it.
// Either the first thread sees that the second is asleep, or the second sees the work before it sleeps.
// Wrong: a load may be old.
// Values OP: fetch_add(0, std::memory_order_seq_cst) | fetch_or(0, std::memory_order_acq_rel) | fetch_and(-1, std::memory_order_release) | fetch_xor(0, std::memory_order_acq_rel)
#include <atomic>
#include <cassert>
#include <thread>

static std::atomic<int> work{0};
static std::atomic<int> awake{1};

int main() {
    int seen = 0;
    std::thread worker([&seen] {
        awake.fetch_sub(1, std::memory_order_acq_rel);
        seen = work.load(std::memory_order_relaxed);
    });
    work.store(1, std::memory_order_relaxed);
    int other = awake.OP; //= right
    int other = awake.load(std::memory_order_seq_cst); //= wrong
    worker.join();
    assert(other == 0 || seen == 1);
}
