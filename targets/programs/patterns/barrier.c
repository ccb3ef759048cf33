// Each thread writes its cell, waits at a barrier, and reads its neighbour's.
// Wrong: no barrier. Right: a pthread barrier.
// Expect: race|exit
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { THREADS = 3 };

static pthread_barrier_t barrier;
static int cells[THREADS], sums[THREADS];

static void *work(void *argument) {
    int me = (int)(intptr_t)argument;
    cells[me] = me + 1;
#ifndef BUGGY
    pthread_barrier_wait(&barrier);
#endif
    sums[me] = cells[me] + cells[(me + 1) % THREADS];
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    int total = 0;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (intptr_t i = 0; i < THREADS; ++i)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(threads[i], NULL);
        total += sums[i];
    }
    pthread_barrier_destroy(&barrier);
    return total != 12;
}
