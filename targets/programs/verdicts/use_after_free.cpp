// A reader uses an object that another thread takes away and deletes.
// Wrong: the reader loads the pointer without saying that it uses it. Right: a mutex holds the deletion off.
// (If the deletion comes second, it races with the use: a bug as well, and the one that is found first by other seeds.)
// Options: --races off
// Expect: use_after_free
#include <atomic>
#include <mutex>
#include <thread>

struct Object {
    std::atomic<int> uses{0};
};

std::mutex lock;
std::atomic<Object *> shared{nullptr};

void use() {
#ifndef BUGGY
    std::lock_guard<std::mutex> guard(lock);
#endif
    if (Object *object = shared.load(std::memory_order_acquire))
        object->uses.fetch_add(1, std::memory_order_relaxed);
}

void take_away() {
#ifndef BUGGY
    std::lock_guard<std::mutex> guard(lock);
#endif
    delete shared.exchange(nullptr, std::memory_order_acq_rel);
}

int main() {
    shared.store(new Object, std::memory_order_release);
    std::thread user(use), owner(take_away);
    user.join();
    owner.join();
    return 0;
}
