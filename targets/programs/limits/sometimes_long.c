// Who comes first decides how much there is to do: that is the scheduler's choice.
// Expect: clean
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_ulong rounds;
static atomic_int first;

static void *worker(void *unused) {
    if (atomic_exchange_explicit(&first, 1, memory_order_relaxed) == 0)
        while (atomic_fetch_add_explicit(&rounds, 1, memory_order_relaxed) < 400) {
        }
    return unused;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, NULL, worker, NULL);
    atomic_exchange_explicit(&first, 2, memory_order_relaxed);
    pthread_join(a, NULL);
    return 0;
}
