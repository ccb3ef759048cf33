// Store buffering: at least one thread must see the other's store.
// Wrong: relaxed accesses allow both to miss it. Right: the plain atomic functions, which are seq_cst.
// Expect: assertion
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x, y;
static int r1, r2;

static void *first(void *unused) {
#ifdef BUGGY
    atomic_store_explicit(&x, 1, memory_order_relaxed);
    r1 = atomic_load_explicit(&y, memory_order_relaxed);
#else
    atomic_store(&x, 1);
    r1 = atomic_load(&y);
#endif
    return unused;
}

static void *second(void *unused) {
#ifdef BUGGY
    atomic_store_explicit(&y, 1, memory_order_relaxed);
    r2 = atomic_load_explicit(&x, memory_order_relaxed);
#else
    atomic_store(&y, 1);
    r2 = atomic_load(&x);
#endif
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(r1 == 1 || r2 == 1);
    return 0;
}
