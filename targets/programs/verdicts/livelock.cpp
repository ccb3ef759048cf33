// Two threads, each with a lock of its own, wait for the other to let go: a spin lock in the usual layers of functions,
// whose arguments and results go over the stack when nothing is optimised.
// Wrong: each takes its own lock and then the other's. Right: both take the first one first.
// Expect: livelock
#include <atomic>
#include <thread>

class Lock {
  public:
    void lock() {
        while (taken.exchange(true, std::memory_order_acquire)) {
            while (is_taken()) {
            }
        }
    }
    void unlock() { taken.store(false, std::memory_order_release); }

  private:
    bool is_taken() const { return taken.load(std::memory_order_relaxed); }
    std::atomic<bool> taken{false};
};

Lock locks[2];
std::atomic<int> ready{0};

static void both(int mine, int other) {
    locks[mine].lock();
#ifdef BUGGY
    ready.fetch_add(1);
    while (ready.load() != 2) {
    }
#endif
    locks[other].lock();
    locks[other].unlock();
    locks[mine].unlock();
}

int main() {
#ifdef BUGGY
    std::thread second(both, 1, 0);
#else
    std::thread second(both, 0, 1);
#endif
    both(0, 1);
    second.join();
    return 0;
}
