// The standard library's own: futures, call_once, shared_mutex, shared_ptr, condition variables.
#include <cassert>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>

static int answer() {
    static const int value = *std::make_unique<int>(42);
    return value;
}

int main() {
    std::promise<std::unique_ptr<int>> promise;
    auto future = promise.get_future();
    auto async = std::async(std::launch::async, [] { return std::make_unique<int>(answer()); });
    std::once_flag once;
    std::shared_mutex lock;
    int made = 0, both[2] = {0, 0};
    std::weak_ptr<int> weak;
    {
        auto strong = std::make_shared<int>(7);
        weak = strong;
        std::thread other([&, strong = std::move(strong)]() mutable {
            std::call_once(once, [&] { made++; });
            {
                std::unique_lock guard(lock);
                both[0] = both[1] = 1;
            }
            strong.reset();
            promise.set_value(std::make_unique<int>(5));
        });
        std::call_once(once, [&] { made++; });
        {
            std::shared_lock guard(lock);
            assert(both[0] == both[1]);
        }
        if (auto locked = weak.lock())
            assert(*locked == 7);
        assert(*future.get() == 5);
        other.join();
    }
    assert(made == 1 && *async.get() == 42 && answer() == 42 && weak.expired());
}
