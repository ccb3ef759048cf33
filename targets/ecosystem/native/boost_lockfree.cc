// Queue, stack and the queue of one producer and one consumer.
#include <boost/lockfree/queue.hpp>
#include <boost/lockfree/spsc_queue.hpp>
#include <boost/lockfree/stack.hpp>
#include <cassert>
#include <thread>

int main() {
    boost::lockfree::queue<int *> queue(2);
    boost::lockfree::stack<int *> stack(2);
    boost::lockfree::spsc_queue<int, boost::lockfree::capacity<2>> spsc;
    auto produce = [&](int value) {
        queue.push(new int(value));
        stack.push(new int(value));
    };
    std::thread one([&] {
        produce(1);
        spsc.push(1);
        spsc.push(2);
    });
    std::thread two(produce, 10);
    int sum = 0, last = 0, value;
    auto take = [&](int *pointer) {
        sum += *pointer;
        delete pointer;
    };
    queue.consume_one(take);
    stack.consume_one(take);
    while (spsc.pop(value)) {
        assert(value == last + 1);
        last = value;
    }
    one.join();
    two.join();
    queue.consume_all(take);
    stack.consume_all(take);
    assert(sum == 22);
}
