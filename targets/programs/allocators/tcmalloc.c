// What only gperftools has: tc_malloc and its like.
// Wrong: a block is used after tc_free.
// Options: --races off
// Expect: use_after_free
#include <gperftools/tcmalloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(long *) shared;
static atomic_int freed;

static void churn(void) {
    for (int i = 0; i < 3; i++) {
        char *block = tc_malloc(100);
        memset(block, 1, tc_malloc_size(block));
        block = tc_realloc(block, 200);
        memset(block, 1, 200);
        tc_free_sized(block, 200);
        block = tc_memalign(64, 100);
        memset(block, 1, 100);
        tc_cfree(block);
    }
}

static void *take(void *unused) {
    churn();
    long *block = atomic_exchange_explicit(&shared, NULL, memory_order_acq_rel);
    if (block) {
        tc_free(block);
        atomic_store_explicit(&freed, 1, memory_order_release);
    }
    return unused;
}

int main(void) {
    long *block = tc_calloc(8, 8);
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
