// Independent reads of independent writes. Status 42 if the readers see the two stores in opposite order.
// Orders: -DSTORE=…, -DLOAD=… (relaxed by default). Expected: ../../litmus/expected.txt, IRIW+…
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
int r1, r2, r3, r4;

int main() {
    std::thread write_x([] { x.store(1, store); });
    std::thread write_y([] { y.store(1, store); });
    std::thread x_then_y([] {
        r1 = x.load(load);
        r2 = y.load(load);
    });
    std::thread y_then_x([] {
        r3 = y.load(load);
        r4 = x.load(load);
    });
    write_x.join();
    write_y.join();
    x_then_y.join();
    y_then_x.join();
    std::printf("r1=%d r2=%d r3=%d r4=%d\n", r1, r2, r3, r4);
    return r1 == 1 && r2 == 0 && r3 == 1 && r4 == 0 ? 42 : 0;
}
