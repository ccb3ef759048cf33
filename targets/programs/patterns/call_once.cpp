// Two threads need something that is made once.
// Wrong: double-checked locking with a relaxed flag. Right: std::call_once.
// Expect: race
#include <atomic>
#include <mutex>
#include <thread>

int made;

#ifdef BUGGY
std::atomic<bool> done{false};
std::mutex lock;

void make_once() {
    if (done.load(std::memory_order_relaxed))
        return;
    std::lock_guard<std::mutex> guard(lock);
    if (!done.load(std::memory_order_relaxed)) {
        made += 1;
        done.store(true, std::memory_order_relaxed);
    }
}
#else
std::once_flag once;

void make_once() {
    std::call_once(once, [] { made += 1; });
}
#endif

int seen[2];

void use(int me) {
    make_once();
    seen[me] = made;
}

int main() {
    std::thread first(use, 0), second(use, 1);
    first.join();
    second.join();
    return seen[0] != 1 || seen[1] != 1;
}
