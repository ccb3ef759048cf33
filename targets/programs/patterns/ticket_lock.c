// A ticket lock around a plain counter.
// Wrong: the next ticket is called with a relaxed store. Right: with a release store.
// Expect: race
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_uint next, now;
static int counter;

static void *add(void *unused) {
    unsigned mine = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
    while (atomic_load_explicit(&now, memory_order_acquire) != mine) {
    }
    counter += 1;
#ifdef BUGGY
    atomic_store_explicit(&now, mine + 1, memory_order_relaxed);
#else
    atomic_store_explicit(&now, mine + 1, memory_order_release);
#endif
    return unused;
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i)
        pthread_create(&threads[i], NULL, add, NULL);
    for (int i = 0; i < 3; ++i)
        pthread_join(threads[i], NULL);
    return counter != 3;
}
