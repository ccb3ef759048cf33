// A barrier in all other threads (membarrier) is nothing that a model has: the program is told that the kernel does not
// have it, and falls back to fences, as liburcu does. Wrong: it counts on it, and leaves the fences out.
// Expect: assertion
#include <assert.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int x, y;
static int first, second, has_barrier;

static void fence(void) {
#ifndef BUGGY
    if (has_barrier) {
        syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
    } else {
        atomic_thread_fence(memory_order_seq_cst);
    }
#endif
}

static void *one(void *unused) {
    atomic_store_explicit(&x, 1, memory_order_relaxed);
    fence();
    first = atomic_load_explicit(&y, memory_order_relaxed);
    return unused;
}

static void *two(void *unused) {
    atomic_store_explicit(&y, 1, memory_order_relaxed);
    fence();
    second = atomic_load_explicit(&x, memory_order_relaxed);
    return unused;
}

int main(void) {
    long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    has_barrier = commands > 0;
#ifndef BUGGY
    // Alone it may have it.
    assert(has_barrier || errno == ENOSYS);
#endif
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, one, NULL);
    pthread_create(&threads[1], NULL, two, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert(first == 1 || second == 1);
    return 0;
}
