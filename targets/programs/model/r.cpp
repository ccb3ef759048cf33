// R: one thread writes x and y, the other writes y and reads x. Status 42 for the weak outcome y=2 r1=0.
// Orders: -DSTORE=…, -DLOAD=… (relaxed by default). Expected: ../../litmus/expected.txt, R+…
#include <atomic>
#include <cstdio>
#include <thread>

#ifndef STORE
#define STORE std::memory_order_relaxed
#endif
#ifndef LOAD
#define LOAD std::memory_order_relaxed
#endif
constexpr std::memory_order store = STORE, load = LOAD;

std::atomic<int> x{0}, y{0};
int r1;

int main() {
    std::thread first([] {
        x.store(1, store);
        y.store(1, store);
    });
    std::thread second([] {
        y.store(2, store);
        r1 = x.load(load);
    });
    first.join();
    second.join();
    int last_y = y.load();
    std::printf("y=%d r1=%d\n", last_y, r1);
    return last_y == 2 && r1 == 0 ? 42 : 0;
}
