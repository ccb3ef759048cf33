// Futures that become ready when their thread ends: libstdc++ sets the flag in a function of the library.
#include <cassert>
#include <future>
#include <thread>

static int payload;

int main() {
    std::promise<int> promise;
    auto future = promise.get_future();
    std::thread first([&] {
        payload = 7;
        promise.set_value_at_thread_exit(3);
    });
    assert(future.get() == 3 && payload == 7);
    first.join();

    std::packaged_task<int()> task([] {
        payload = 9;
        return 4;
    });
    auto result = task.get_future();
    std::thread second([&] { task.make_ready_at_thread_exit(); });
    assert(result.get() == 4 && payload == 9);
    second.join();
    return 0;
}
