// A copy by a function of the C library that is called through a register.
// Wrong: the copy is published by a relaxed store.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct block { atomic_long count; long first, rest[78]; };
static _Atomic(struct block *) published;
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;

static void *writer(void *unused) {
    struct block *from = calloc(1, sizeof *from), *to = aligned_alloc(64, 640);
    from->first = 7;
    copy(to, from, sizeof *to);
    free(from);
    atomic_store_explicit(&published, to, memory_order_release); //= right
    atomic_store_explicit(&published, to, memory_order_relaxed); //= wrong
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    struct block *block;
    while (!(block = atomic_load_explicit(&published, memory_order_acquire))) {
        sched_yield();
    }
    assert(atomic_load_explicit(&block->count, memory_order_relaxed) == 0);
    assert(block->first == 7);
    pthread_join(thread, NULL);
    free(block);
    return 0;
}
