// The C++ runtime draws a number by an instruction of the processor, in code that runs natively.
#include <atomic>
#include <random>
#include <thread>

static std::atomic<unsigned> number;

int main() {
    std::thread thread([] {
        std::random_device device("rdrand");
        number.store(device(), std::memory_order_relaxed);
    });
    thread.join();
    return 0;
}
