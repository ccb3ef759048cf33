// Coroutines that go on in another thread: frames on the heap, atomics inside them.
#include <atomic>
#include <cassert>
#include <coroutine>
#include <thread>
#include <utility>
#include <vector>

struct Task {
    struct promise_type {
        Task get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::abort(); }
    };
};

struct Event {
    std::atomic<void *> state{nullptr};
    bool await_ready() const noexcept { return state.load(std::memory_order_acquire) == this; }
    bool await_suspend(std::coroutine_handle<> handle) noexcept {
        void *expected = nullptr;
        return state.compare_exchange_strong(expected, handle.address(), std::memory_order_acq_rel,
                                             std::memory_order_acquire);
    }
    void await_resume() const noexcept {}
    void set() {
        void *old = state.exchange(this, std::memory_order_acq_rel);
        if (old)
            std::coroutine_handle<>::from_address(old).resume();
    }
};

struct State {
    Event first, second;
    int data = 0;
    std::atomic<int> done{0};
};

static Task wait_both(State &state) {
    std::atomic<int> local{0};
    co_await state.first;
    local.fetch_add(state.data, std::memory_order_relaxed);
    co_await state.second;
    state.done.store(local.load(std::memory_order_relaxed) + state.data, std::memory_order_release);
    state.done.notify_one();
}

int main() {
    State state;
    std::thread other([&state] {
        state.data = 1;
        state.first.set();
        state.second.set();
    });
    wait_both(state);
    state.done.wait(0, std::memory_order_acquire);
    assert(state.done.load(std::memory_order_relaxed) == 2);
    other.join();
}
