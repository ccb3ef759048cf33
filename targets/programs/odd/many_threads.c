// 64 threads alive at once, which add to an atomic and to a locked counter.
// Wrong: the second counter is not locked. Right: it is.
// Expect: race
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum { THREADS = 64 };

#ifndef BUGGY
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#endif
static atomic_int go, first;
static int second;

static void *work(void *unused) {
    while (!atomic_load_explicit(&go, memory_order_acquire)) {
    }
    atomic_fetch_add_explicit(&first, 1, memory_order_relaxed);
#ifndef BUGGY
    pthread_mutex_lock(&lock);
#endif
    second += 1;
#ifndef BUGGY
    pthread_mutex_unlock(&lock);
#endif
    return unused;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; ++i)
        pthread_create(&threads[i], NULL, work, NULL);
    atomic_store_explicit(&go, 1, memory_order_release);
    for (int i = 0; i < THREADS; ++i)
        pthread_join(threads[i], NULL);
    return atomic_load(&first) != THREADS || second != THREADS;
}
