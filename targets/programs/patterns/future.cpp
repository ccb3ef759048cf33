// std::async, a promise that is kept, and one that fails with an exception.
// Wrong: a promise is never kept, and its future waits for it. Right: it is.
// Expect: deadlock
#include <future>
#include <stdexcept>
#include <thread>

int main() {
    std::promise<int> kept, failed;
    std::future<int> value = kept.get_future(), error = failed.get_future();
    std::thread worker([&kept, &failed] {
#ifndef BUGGY
        kept.set_value(40);
#endif
        failed.set_exception(std::make_exception_ptr(std::runtime_error("two")));
    });
    int sum = value.get();
    try {
        error.get();
    } catch (const std::runtime_error &) {
        sum += 1;
    }
    worker.join();
    sum += std::async(std::launch::async, [] { return 1; }).get();
    return sum != 42;
}
