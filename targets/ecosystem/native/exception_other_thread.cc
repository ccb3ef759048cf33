// An exception that one thread throws and another one catches: the library counts who has it.
#include <cassert>
#include <cstring>
#include <exception>
#include <future>
#include <stdexcept>
#include <thread>

int main() {
    std::promise<int> promise;
    std::future<int> future = promise.get_future();
    std::thread thread([&promise] {
        try {
            throw std::runtime_error("as expected");
        } catch (...) {
            promise.set_exception(std::current_exception());
        }
    });
    bool caught = false;
    try {
        future.get();
    } catch (const std::runtime_error &error) {
        caught = std::strcmp(error.what(), "as expected") == 0;
    }
    assert(caught);
    thread.join();
    return 0;
}
