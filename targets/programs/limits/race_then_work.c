// Two threads race on a plain variable, and then one of them works for ever.
// Wrong: both. Right: neither.
// Expect: race
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static int shared;
static atomic_ulong rounds;

static void *worker(void *unused) {
#ifdef BUGGY
    shared++;
    for (;;)
#endif
        atomic_fetch_add_explicit(&rounds, 1, memory_order_relaxed);
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, worker, NULL);
    pthread_create(&b, NULL, worker, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return shared;
}
