// C++20: atomic::wait, latch, barrier, semaphores, atomic_ref, atomic_flag::wait.
#include <atomic>
#include <barrier>
#include <cassert>
#include <latch>
#include <semaphore>
#include <thread>

int main() {
    std::atomic<int> ready{0};
    std::atomic_flag flag;
    std::latch begun(2);
    std::barrier together(2);
    std::counting_semaphore<2> permits(0);
    int data = 0, shared = 0;
    alignas(std::atomic_ref<int>::required_alignment) int counted = 0;

    std::jthread other([&] {
        begun.count_down();
        data = 1;
        ready.store(1, std::memory_order_release);
        ready.notify_one();
        together.arrive_and_wait();
        std::atomic_ref(counted).fetch_add(1, std::memory_order_relaxed);
        shared = 2;
        permits.release(2);
        flag.test_and_set(std::memory_order_release);
        flag.notify_all();
    });
    begun.arrive_and_wait();
    ready.wait(0, std::memory_order_acquire);
    assert(data == 1);
    together.arrive_and_wait();
    std::atomic_ref(counted).fetch_add(1, std::memory_order_relaxed);
    permits.acquire();
    permits.acquire();
    assert(shared == 2);
    flag.wait(false, std::memory_order_acquire);
    other.join();
    assert(counted == 2);
}
