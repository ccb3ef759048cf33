// A relaxed store behind a release store of the same thread to the same variable. C's release sequences contain it, so
// whoever reads it with acquire knows what was published. (C++20's do not: wmtrace warns.)
// Wrong: nothing is released before. Right: the first store is a release.
// Expect: race
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int stage;
int data;

static void publish(void) {
#ifdef BUGGY
    atomic_store_explicit(&stage, 1, memory_order_relaxed);
#else
    atomic_store_explicit(&stage, 1, memory_order_release);
#endif
}

static void go_on(void) {
    atomic_store_explicit(&stage, 2, memory_order_relaxed);
}

static void *writer(void *unused) {
    data = 1;
    publish();
    go_on();
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    if (atomic_load_explicit(&stage, memory_order_acquire) == 2) {
        if (data != 1)
            abort();
    }
    return pthread_join(thread, NULL);
}
