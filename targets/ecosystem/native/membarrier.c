// Asymmetric barriers, as seize has them: one side has a compiler fence, the other interrupts all processors.
#define _GNU_SOURCE
#include <assert.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
static atomic_int x, y, by_page;
static atomic_long *page;
static int r1, r2;
static void heavy(void) {
    if (!by_page) { assert(!syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0)); return; }
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    atomic_fetch_add(page, 1);
    mprotect(page, 4096, PROT_NONE);
}
static void *fast(void *p) {
    atomic_store_explicit(&x, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    r1 = atomic_load(&y);
    return p;
}
int main(void) {
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) < 0 ||
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) < 0) {
        by_page = 1;
        page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mlock(page, 4096);
    }
    pthread_t t;
    pthread_create(&t, 0, fast, 0);
    atomic_store(&y, 1);
    heavy();
    r2 = atomic_load_explicit(&x, memory_order_relaxed);
    pthread_join(t, 0);
    assert(r1 || r2);
}
