// A counter on the heap is made known to another thread, which loads it.
// Wrong: it is made known before its first store. Right: after it.
// Expect: uninitialised_load
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct counter {
    atomic_int value;
};

static struct counter *_Atomic shared;

static void *maker(void *unused) {
    struct counter *made = malloc(sizeof *made);
#ifdef BUGGY
    atomic_store_explicit(&shared, made, memory_order_release);
    atomic_store_explicit(&made->value, 1, memory_order_relaxed);
#else
    atomic_store_explicit(&made->value, 1, memory_order_relaxed);
    atomic_store_explicit(&shared, made, memory_order_release);
#endif
    return unused;
}

static void *reader(void *unused) {
    struct counter *found = atomic_load_explicit(&shared, memory_order_acquire);
    if (found)
        atomic_load_explicit(&found->value, memory_order_relaxed);
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, maker, NULL);
    pthread_create(&b, NULL, reader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    free(atomic_load(&shared));
    return 0;
}
