// A worker counts until it is told to stop; what it counts is visible, so this is work and not spinning.
// Wrong: nobody tells it. Right: it stops by itself after a few rounds.
// Options: --timeout 2 --limits bug
// Expect: timeout
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_ulong rounds;
static atomic_int stop;

static void *worker(void *unused) {
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&rounds, 1, memory_order_relaxed);
#ifndef BUGGY
        if (atomic_load_explicit(&rounds, memory_order_relaxed) == 10)
            atomic_store_explicit(&stop, 1, memory_order_relaxed);
#endif
    }
    return unused;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, NULL, worker, NULL);
    pthread_join(a, NULL);
    return 0;
}
