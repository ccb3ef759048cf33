// A reader that sees the flag must see the data; if not it throws, and nobody catches.
// Wrong: the flag is published relaxed. Right: release and acquire.
// Expect: assertion
#include <atomic>
#include <stdexcept>
#include <thread>

#ifdef BUGGY
constexpr auto publish = std::memory_order_relaxed, receive = std::memory_order_relaxed;
#else
constexpr auto publish = std::memory_order_release, receive = std::memory_order_acquire;
#endif

std::atomic<int> data{0}, flag{0};

int main() {
    std::thread writer([] {
        data.store(1, std::memory_order_relaxed);
        flag.store(1, publish);
    });
    std::thread reader([] {
        if (flag.load(receive) == 1 && data.load(std::memory_order_relaxed) == 0)
            throw std::logic_error("the flag came before the data");
    });
    writer.join();
    reader.join();
    return 0;
}
