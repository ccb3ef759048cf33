// Atomics in the frame of a coroutine, which two threads resume one after the other while a third accesses them.
// Wrong: the flag is relaxed, and the accesses to the data race.
// Compilers: g++ clang++-19
// Flags: -std=c++20
#include <atomic>
#include <cassert>
#include <coroutine>
#include <exception>
#include <thread>

struct Shared {
    std::atomic<int> flag{0};
    std::atomic<int> count{0};
    int data = 0;
};

static std::atomic<Shared *> where{nullptr};

struct Task {
    struct promise_type {
        Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

static Task wait_for_data() {
    Shared shared;
    where.store(&shared, std::memory_order_release);
    shared.count.fetch_add(1, std::memory_order_relaxed);
    co_await std::suspend_always{};
    shared.count.fetch_add(1, std::memory_order_relaxed);
    while (shared.flag.load(std::memory_order_acquire) == 0) {
        std::this_thread::yield();
    }
    assert(shared.data == 1);
    co_await std::suspend_always{};
    shared.count.store(9, std::memory_order_relaxed);
}

int main() {
    Task task = wait_for_data();
    std::thread writer([] {
        Shared *shared = where.load(std::memory_order_acquire);
        shared->count.fetch_add(1, std::memory_order_relaxed);
        shared->data = 1;
        shared->flag.store(1, std::memory_order_release); //= right
        shared->flag.store(1, std::memory_order_relaxed); //= wrong
    });
    std::thread second([&task] { task.handle.resume(); });
    second.join();
    writer.join();
    task.handle.resume();
    assert(task.handle.done());
    task.handle.destroy();
}
