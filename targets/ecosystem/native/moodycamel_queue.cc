// The queue that does not block: two producers; the main thread takes what is there, and the rest after both have ended.
#include <cassert>
#include <concurrentqueue/concurrentqueue.h>
#include <memory>
#include <thread>

int main() {
    moodycamel::ConcurrentQueue<std::unique_ptr<int>> queue;
    auto produce = [&queue](int value) {
        queue.enqueue(std::make_unique<int>(value));
        queue.enqueue(std::make_unique<int>(10 * value));
    };
    std::thread one(produce, 1), two(produce, 2);
    int sum = 0;
    std::unique_ptr<int> value;
    for (int i = 0; i < 3; i++)
        if (queue.try_dequeue(value))
            sum += *value;
    one.join();
    two.join();
    while (queue.try_dequeue(value))
        sum += *value;
    assert(sum == 33);
}
