// Producer and consumer tokens, bulk operations; the semaphore of the blocking queue by itself.
#include <cassert>
#include <concurrentqueue/blockingconcurrentqueue.h>
#include <thread>

int main() {
    moodycamel::BlockingConcurrentQueue<int> queue;
    auto produce = [&queue](int value) {
        moodycamel::ProducerToken token(queue);
        int values[2] = {value, 10 * value};
        queue.enqueue_bulk(token, values, 2);
    };
    std::thread one(produce, 1), two(produce, 2);
    moodycamel::ConsumerToken token(queue);
    int sum = 0, got = 0;
    while (got < 4) {
        int values[4];
        size_t count = queue.wait_dequeue_bulk(token, values, 4);
        for (size_t i = 0; i < count; i++)
            sum += values[i];
        got += count;
    }
    one.join();
    two.join();
    assert(sum == 33);
}
