// Two threads write two locations in opposite order. Status 42 if the first stores of both are last: x=1 y=1.
// Order: -DSTORE=… (relaxed by default). Expected: ../../litmus/expected.txt, 2+2W+…
#include <atomic>
#include <cstdio>
#include <thread>

#ifndef STORE
#define STORE std::memory_order_relaxed
#endif
constexpr std::memory_order store = STORE;

std::atomic<int> x{0}, y{0};

int main() {
    std::thread first([] {
        x.store(1, store);
        y.store(2, store);
    });
    std::thread second([] {
        y.store(1, store);
        x.store(2, store);
    });
    first.join();
    second.join();
    int last_x = x.load(), last_y = y.load();
    std::printf("x=%d y=%d\n", last_x, last_y);
    return last_x == 1 && last_y == 1 ? 42 : 0;
}
