// Atomic objects on the stack of the thread that made the others: the compiler keeps their addresses in the frame for the
// closures, and accesses the objects themselves by the stack pointer.
// Expect: clean
// Flags: -std=c++20 -O3
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <latch>
#include <semaphore>
#include <stop_token>
#include <thread>

struct alignas(8) Pair {
    int one, two;
};

static void check(bool right) {
    if (!right)
        std::abort();
}

int main() {
    using namespace std;
    {
        int object = 0, data = 0;
        jthread writer([&] { data = 1; atomic_ref<int>(object).store(1, memory_order_release); });
        atomic_ref<int> reference(object);
        while (reference.load(memory_order_acquire) == 0)
            this_thread::yield();
        check(data == 1);
    }
    {
        atomic<Pair> pair{Pair{0, 0}};
        int data = 0;
        jthread writer([&] { data = 2; pair.store(Pair{1, 2}, memory_order_release); });
        Pair seen;
        while ((seen = pair.load(memory_order_acquire)).one == 0)
            this_thread::yield();
        check(seen.two == 2 && data == 2);
    }
    {
        atomic<double> sum{0};
        jthread adder([&] { sum.fetch_add(1.0); sum += 2; });
        sum.fetch_add(3.0, memory_order_relaxed);
    }
    {
        stop_source source;
        int stopped = 0;
        {
            jthread waiter([&] { while (!source.get_token().stop_requested()) this_thread::yield(); });
            stop_callback callback(source.get_token(), [&] { stopped++; });
            source.request_stop();
        }
        check(stopped == 1);
    }
    {
        counting_semaphore<3> semaphore(0);
        int data = 0;
        jthread releaser([&] { data = 3; semaphore.release(2); });
        while (!semaphore.try_acquire())
            this_thread::yield();
        semaphore.acquire();
        check(data == 3);
    }
    {
        atomic<bool> flag{false};
        atomic<unsigned char> byte{0};
        int data = 0;
        jthread writer([&] { data = 4; flag.store(true); flag.notify_all(); byte.store(3, memory_order_release); byte.notify_one(); });
        flag.wait(false);
        check(data == 4);
        byte.wait(0, memory_order_acquire);
    }
    {
        promise<int> value;
        auto future = value.get_future();
        jthread setter([&] { value.set_value(3); });
        check(future.get() == 3);
    }
    return 0;
}
