// Read-copy-update in small: a writer publishes a new version, waits for the reader to leave, and deletes the old one.
// Wrong: the version is published relaxed: its plain content races. Right: release and acquire, and a grace period
// that the reader's release store ends.
// Expect: race
#include <atomic>
#include <thread>

struct Version {
    int a, b;
};

#ifdef BUGGY
constexpr auto publish = std::memory_order_relaxed;
#else
constexpr auto publish = std::memory_order_release;
#endif

std::atomic<Version *> current{new Version{1, 1}};
std::atomic<bool> reader_left{false};
int torn;

void read() {
    for (int i = 0; i < 2; ++i) {
        const Version *version = current.load(std::memory_order_acquire);
        torn += version->a != version->b;
    }
    reader_left.store(true, std::memory_order_release);
}

void update() {
    Version *old = current.load(std::memory_order_relaxed);
    current.store(new Version{2, 2}, publish);
    while (!reader_left.load(std::memory_order_acquire)) {
    }
    delete old;
}

int main() {
    std::thread reader(read), writer(update);
    reader.join();
    writer.join();
    delete current.load();
    return torn;
}
