// Six threads count. Status 9 if the kernel refuses one.
// Expect: clean
#include <pthread.h>
#include <stdatomic.h>

static atomic_int count;

static void *worker(void *unused) {
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    return unused;
}

int main(void) {
    pthread_t threads[6];
    for (int i = 0; i < 6; i++)
        if (pthread_create(&threads[i], NULL, worker, NULL) != 0) return 9;
    for (int i = 0; i < 6; i++) pthread_join(threads[i], NULL);
    return atomic_load_explicit(&count, memory_order_relaxed) == 6 ? 0 : 1;
}
