// Store buffering. Prints what both threads read; status 42 for the weak outcome r1=0 r2=0.
// Orders: -DSTORE=…, -DLOAD=… (relaxed by default). Expected: ../../litmus/expected.txt, SB+…
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
int r1, r2;

int main() {
    std::thread first([] {
        x.store(1, store);
        r1 = y.load(load);
    });
    std::thread second([] {
        y.store(1, store);
        r2 = x.load(load);
    });
    first.join();
    second.join();
    std::printf("r1=%d r2=%d\n", r1, r2);
    return r1 == 0 && r2 == 0 ? 42 : 0;
}
