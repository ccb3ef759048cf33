// C++20: an atomic shared pointer, stop tokens, and a condition variable that knows them.
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

int main() {
    std::atomic<std::shared_ptr<std::pair<int, int>>> shared(std::make_shared<std::pair<int, int>>(1, 1));
    std::mutex mutex;
    std::condition_variable_any changed;
    bool stopped = false;
    {
        std::jthread other([&](std::stop_token token) {
            for (int i = 0; i < 2; i++) {
                auto value = shared.load();
                assert(value->first == value->second);
            }
            std::unique_lock lock(mutex);
            changed.wait(lock, token, [] { return false; });
            stopped = true;
        });
        shared.store(std::make_shared<std::pair<int, int>>(2, 2));
        auto expected = shared.load();
        shared.compare_exchange_strong(expected, std::make_shared<std::pair<int, int>>(3, 3));
        other.request_stop();
    }
    assert(stopped && shared.load()->first == 3);
}
