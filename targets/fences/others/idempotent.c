// As idempotent.cc, in C.
// Values OP: atomic_fetch_add_explicit(&awake, 0, memory_order_seq_cst) | atomic_fetch_or_explicit(&awake, 0, memory_order_acq_rel) | atomic_fetch_and_explicit(&awake, -1, memory_order_release)
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int work;
static atomic_int awake = 1;
static int seen;

static void *worker(void *unused) {
    (void)unused;
    atomic_fetch_sub_explicit(&awake, 1, memory_order_acq_rel);
    seen = atomic_load_explicit(&work, memory_order_relaxed);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    atomic_store_explicit(&work, 1, memory_order_relaxed);
    int other = OP; //= right
    int other = atomic_load_explicit(&awake, memory_order_seq_cst); //= wrong
    pthread_join(thread, NULL);
    assert(other == 0 || seen == 1);
    return 0;
}
