// Store buffering, as in sb.cpp, but with the threads of the system: nothing but both bodies runs between the creation
// of the first thread and the end of the second, so that only the model says what is seen. (std::thread writes to the
// heap in between, and under tso the second thread sees all that was stored before.)
#include <atomic>
#include <cstdio>
#include <pthread.h>

#ifndef STORE
#define STORE std::memory_order_relaxed
#endif
#ifndef LOAD
#define LOAD std::memory_order_relaxed
#endif

std::atomic<int> x{0}, y{0};
int r1, r2;

void *first(void *unused) {
    x.store(1, STORE);
    r1 = y.load(LOAD);
    return unused;
}

void *second(void *unused) {
    y.store(1, STORE);
    r2 = x.load(LOAD);
    return unused;
}

int main() {
    pthread_t threads[2];
    pthread_create(&threads[0], nullptr, first, nullptr);
    pthread_create(&threads[1], nullptr, second, nullptr);
    pthread_join(threads[0], nullptr);
    pthread_join(threads[1], nullptr);
    std::printf("r1=%d r2=%d\n", r1, r2);
    return r1 == 0 && r2 == 0 ? 42 : 0;
}
