// What only jemalloc has: mallocx and its like.
// Wrong: a block is used after sdallocx.
// Options: --races off
// Expect: use_after_free
#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(long *) shared;
static atomic_int freed;

static void churn(void) {
    for (int i = 0; i < 3; i++) {
        char *block = mallocx(200, 0);
        memset(block, 1, sallocx(block, 0));
        block = rallocx(block, 300, MALLOCX_ALIGN(64));
        memset(block, 1, 300);
        memset(block, 2, xallocx(block, 310, 0, 0));
        sdallocx(block, 300, MALLOCX_ALIGN(64));
        block = mallocx(100, MALLOCX_ZERO);
        if (block[99])
            abort();
        dallocx(block, 0);
    }
}

static void *take(void *unused) {
    churn();
    long *block = atomic_exchange_explicit(&shared, NULL, memory_order_acq_rel);
    if (block) {
        sdallocx(block, 64, 0);
        atomic_store_explicit(&freed, 1, memory_order_release);
    }
    return unused;
}

int main(void) {
    long *block = mallocx(64, MALLOCX_ZERO);
    pthread_t thread;
    pthread_create(&thread, NULL, take, NULL);
    churn();
    atomic_store_explicit(&shared, block, memory_order_release);
#ifdef BUGGY
    if (atomic_load_explicit(&freed, memory_order_acquire))
        block[5] = 1;
#endif
    pthread_join(thread, NULL);
    return 0;
}
