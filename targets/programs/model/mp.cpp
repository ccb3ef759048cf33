// Message passing. Prints what the reader sees; status 42 for the weak outcome r1=1 r2=0: the flag, not the data.
// Orders of the flag: -DSTORE=…, -DLOAD=… (relaxed by default). Expected: ../../litmus/expected.txt, MP+…
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

std::atomic<int> data{0}, flag{0};
int r1, r2;

int main() {
    std::thread writer([] {
        data.store(1, std::memory_order_relaxed);
        flag.store(1, store);
    });
    std::thread reader([] {
        r1 = flag.load(load);
        r2 = data.load(std::memory_order_relaxed);
    });
    writer.join();
    reader.join();
    std::printf("r1=%d r2=%d\n", r1, r2);
    return r1 == 1 && r2 == 0 ? 42 : 0;
}
