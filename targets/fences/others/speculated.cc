// A plain load that compilers may make before they know whether the source makes it.
// Wrong: the flag is relaxed. Where the load may be speculated, its race is only possible.
// Unsettled: yes
// Values READ: flag.load(std::memory_order_acquire) ? data : 42 | try_read().value_or(42)
#include <atomic>
#include <cassert>
#include <optional>
#include <thread>

static int data;
static std::atomic<int> flag{0};

static std::optional<int> try_read() {
    return flag.load(std::memory_order_acquire) ? std::optional<int>(data) : std::nullopt;
}

int main() {
    std::thread writer([] {
        data = 42;
        flag.store(1, std::memory_order_release); //= right
        flag.store(1, std::memory_order_relaxed); //= wrong
    });
    int value = READ;
    assert(value == 42);
    writer.join();
    (void)try_read;
    assert(data == 42);
    return 0;
}
