// A thread pool: workers take tasks from a queue until it is closed.
// Wrong: `close` sets the flag without the mutex, between a worker's look and its sleep: the wake-up is lost.
// Right: under the mutex.
// Expect: deadlock
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

class Pool {
public:
    explicit Pool(int workers) {
        for (int i = 0; i < workers; ++i)
            threads.emplace_back([this] { work(); });
    }

    void submit(std::function<void()> task) {
        {
            std::lock_guard<std::mutex> guard(lock);
            tasks.push_back(std::move(task));
        }
        changed.notify_one();
    }

    void close() {
        {
#ifndef BUGGY
            std::lock_guard<std::mutex> guard(lock);
#endif
            closed = true;
        }
        changed.notify_all();
        for (std::thread &thread : threads)
            thread.join();
    }

private:
    void work() {
        for (;;) {
            std::unique_lock<std::mutex> guard(lock);
            while (tasks.empty() && !closed)
                changed.wait(guard);
            if (tasks.empty())
                return;
            std::function<void()> task = std::move(tasks.front());
            tasks.pop_front();
            guard.unlock();
            task();
        }
    }

    std::mutex lock;
    std::condition_variable changed;
    std::deque<std::function<void()>> tasks;
    std::atomic<bool> closed{false};
    std::vector<std::thread> threads;
};

int main() {
    std::atomic<int> sum{0};
    Pool pool(2);
    for (int i = 1; i <= 3; ++i)
        pool.submit([&sum, i] { sum += i; });
    pool.close();
    return sum != 6;
}
