// Fibers of two threads, with a channel and a mutex between them.
#include <boost/fiber/all.hpp>
#include <cassert>
#include <memory>
#include <thread>

int main() {
    boost::fibers::buffered_channel<std::shared_ptr<int>> channel(2);
    boost::fibers::mutex mutex;
    int count = 0;
    auto add = [&] {
        std::unique_lock<boost::fibers::mutex> lock(mutex);
        count++;
    };
    std::thread other([&] {
        boost::fibers::fiber fiber([&] {
            channel.push(std::make_shared<int>(1));
            channel.push(std::make_shared<int>(2));
            channel.close();
        });
        add();
        fiber.join();
    });
    int sum = 0;
    boost::fibers::fiber fiber([&] {
        for (auto value : channel)
            sum += *value;
    });
    add();
    fiber.join();
    other.join();
    assert(sum == 3 && count == 2);
}
