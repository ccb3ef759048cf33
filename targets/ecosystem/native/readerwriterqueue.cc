// Queues of one reader and one writer: growing, blocking, and a ring.
#include <cassert>
#include <memory>
#include <readerwriterqueue/readerwritercircularbuffer.h>
#include <readerwriterqueue/readerwriterqueue.h>
#include <thread>

int main() {
    moodycamel::ReaderWriterQueue<std::unique_ptr<int>> queue(1);
    moodycamel::BlockingReaderWriterQueue<std::unique_ptr<int>> blocking(1);
    moodycamel::BlockingReaderWriterCircularBuffer<int> ring(1);
    std::thread writer([&] {
        for (int i = 1; i <= 2; i++) {
            queue.enqueue(std::make_unique<int>(i));
            blocking.enqueue(std::make_unique<int>(i));
            ring.wait_enqueue(i);
        }
    });
    int last = 0, number;
    std::unique_ptr<int> value;
    for (int i = 1; i <= 2; i++) {
        if (queue.try_dequeue(value)) {
            assert(*value == last + 1);
            last = *value;
        }
        blocking.wait_dequeue(value);
        assert(*value == i);
        ring.wait_dequeue(number);
        assert(number == i);
    }
    writer.join();
}
