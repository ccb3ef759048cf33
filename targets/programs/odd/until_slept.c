// Threads work until the first one has slept for a second, as a benchmark does.
// Expect: clean
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static atomic_int stop;
static atomic_ulong done;

static void *works(void *unused) {
    while (!atomic_load_explicit(&stop, memory_order_relaxed))
        atomic_fetch_add_explicit(&done, 1, memory_order_relaxed);
    return unused;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, works, NULL);
    pthread_create(&two, NULL, works, NULL);
    sleep(1);
    atomic_store_explicit(&stop, 1, memory_order_relaxed);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
