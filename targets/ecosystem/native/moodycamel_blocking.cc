// The blocking queue: two consumers wait, one producer.
#include <cassert>
#include <concurrentqueue/blockingconcurrentqueue.h>
#include <memory>
#include <thread>

int main() {
    moodycamel::BlockingConcurrentQueue<std::unique_ptr<int>> queue(4);
    int sums[2] = {0, 0};
    std::thread consumers[2];
    for (int i = 0; i < 2; i++) {
        consumers[i] = std::thread([&queue, &sums, i] {
            std::unique_ptr<int> value;
            queue.wait_dequeue(value);
            sums[i] = *value;
        });
    }
    queue.enqueue(std::make_unique<int>(1));
    queue.enqueue(std::make_unique<int>(2));
    for (auto &consumer : consumers)
        consumer.join();
    assert(sums[0] + sums[1] == 3);
}
