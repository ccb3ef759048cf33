// Three invariants, each with its own abort(). With optimisation compilers make one call of them, which has the line of one.
// Wrong: the second one fails.
// Expect: assertion
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int a, b, c;

static void *worker(void *unused) {
    atomic_fetch_add_explicit(&a, 1, memory_order_relaxed);
#ifdef BUGGY
    atomic_fetch_add_explicit(&b, 1, memory_order_relaxed);
#endif
    atomic_fetch_add_explicit(&c, 1, memory_order_relaxed);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, worker, NULL);
    if (atomic_load_explicit(&a, memory_order_relaxed) > 2)
        abort();
    if (atomic_load_explicit(&b, memory_order_relaxed) > 0)
        abort();
    if (atomic_load_explicit(&c, memory_order_relaxed) > 2)
        abort();
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
