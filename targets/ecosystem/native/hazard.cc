// Hazard pointers in the style of folly: a reader protects with a fence, the writer retires and looks at the hazards.
#include <atomic>
#include <cassert>
#include <thread>

struct Object {
    int first, second;
};

struct alignas(64) Hazard {
    std::atomic<const Object *> pointer{nullptr};
};

static Hazard hazards[2];
static std::atomic<Object *> shared{new Object{0, 0}};

struct Holder {
    Hazard &hazard;
    const Object *protect(const std::atomic<Object *> &source) {
        const Object *pointer = source.load(std::memory_order_relaxed);
        while (!try_protect(pointer, source))
            ;
        return pointer;
    }
    bool try_protect(const Object *&pointer, const std::atomic<Object *> &source) {
        const Object *expected = pointer;
        hazard.pointer.store(expected, std::memory_order_release);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        pointer = source.load(std::memory_order_acquire);
        if (pointer != expected) [[unlikely]] {
            hazard.pointer.store(nullptr, std::memory_order_release);
            return false;
        }
        return true;
    }
    ~Holder() { hazard.pointer.store(nullptr, std::memory_order_release); }
};

static void reader(int me) {
    for (int i = 0; i < 2; i++) {
        Holder holder{hazards[me]};
        const Object *object = holder.protect(shared);
        assert(object->first == object->second);
    }
}

static bool in_use(const Object *object) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    for (auto &hazard : hazards)
        if (hazard.pointer.load(std::memory_order_acquire) == object)
            return true;
    return false;
}

int main() {
    std::thread one(reader, 0), two(reader, 1);
    Object *kept[2] = {nullptr, nullptr};
    for (int i = 0; i < 2; i++) {
        Object *old = shared.exchange(new Object{i + 1, i + 1}, std::memory_order_acq_rel);
        if (in_use(old))
            kept[i] = old;
        else
            delete old;
    }
    one.join();
    two.join();
    delete kept[0];
    delete kept[1];
    delete shared.load(std::memory_order_relaxed);
}
