// What only mimalloc has: mi_malloc and its like; and functions that wmtrace does not know, which hand out memory again that
// was freed.
// Wrong: a block is used after mi_free.
// Options: --races off
// Expect: use_after_free
#include <mimalloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(long *) shared;
static atomic_int freed;

static void churn(void) {
    for (int i = 0; i < 3; i++) {
        char *block = mi_malloc(40);
        memset(block, 1, mi_usable_size(block));
        block = mi_realloc(block, 64);
        memset(block, 1, 64);
        mi_free(block);
        block = mi_heap_malloc(mi_heap_get_default(), 64);
        memset(block, 1, 64);
        mi_free(block);
        block = mi_zalloc(64);
        if (block[63])
            abort();
        mi_free_size(block, 64);
        // Unknown ones.
        block = mi_heap_rezalloc(mi_heap_get_default(), NULL, 64);
        memset(block, 1, 64);
        mi_free(block);
        block = mi_heap_strdup(mi_heap_get_default(), "a string that is a bit longer than others, and once more so");
        if (block[0] != 'a')
            abort();
        mi_free(block);
    }
}

static void *take(void *unused) {
    churn();
    long *block = atomic_exchange_explicit(&shared, NULL, memory_order_acq_rel);
    if (block) {
        mi_free(block);
        atomic_store_explicit(&freed, 1, memory_order_release);
    }
    return unused;
}

int main(void) {
    long *block = mi_zalloc(64);
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
