// Two threads wait for each other by spinning.
// Wrong: each waits before it says that it is here. Right: the first one speaks first.
// Expect: livelock
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int here[2];

static void wait_for(int other) {
    while (!atomic_load_explicit(&here[other], memory_order_acquire)) {
    }
}

static void *first(void *unused) {
#ifdef BUGGY
    wait_for(1);
    atomic_store_explicit(&here[0], 1, memory_order_release);
#else
    atomic_store_explicit(&here[0], 1, memory_order_release);
    wait_for(1);
#endif
    return unused;
}

static void *second(void *unused) {
    wait_for(0);
    atomic_store_explicit(&here[1], 1, memory_order_release);
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
