// A queue between a producer and a consumer: mutex and condition variable.
// Wrong: the consumer looks into the queue without the mutex first. Right: always with it.
// Expect: race
#include <condition_variable>
#include <mutex>
#include <queue>
#include <thread>

std::mutex lock;
std::condition_variable filled;
std::queue<int> queue;

void produce() {
    for (int i = 1; i <= 3; ++i) {
        {
            std::lock_guard<std::mutex> guard(lock);
            queue.push(i);
        }
        filled.notify_one();
    }
}

int consume() {
    int sum = 0;
    for (int i = 0; i < 3; ++i) {
#ifdef BUGGY
        if (queue.empty())
            std::this_thread::yield();
#endif
        std::unique_lock<std::mutex> guard(lock);
        filled.wait(guard, [] { return !queue.empty(); });
        sum += queue.front();
        queue.pop();
    }
    return sum;
}

int main() {
    int sum = 0;
    std::thread consumer([&sum] { sum = consume(); });
    std::thread producer(produce);
    producer.join();
    consumer.join();
    return sum != 6;
}
