// A barrier and a condition variable on the heap, destroyed and freed by a thread that knows that the others have been let
// through, though they may still be on their way out: the C library waits for them.
// Wrong: what the thread has counted is read without waiting at the barrier. Right: after it.
// Expect: race
#include <pthread.h>
#include <stdlib.h>

struct meeting {
    pthread_barrier_t barrier;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int ready;
};

static struct meeting *meeting;
static int counts[2], sum;

static void *thread(void *arg) {
    int me = arg != NULL;
    counts[me] = 1;
#ifdef BUGGY
    sum += counts[!me];
#endif
    pthread_mutex_lock(&meeting->lock);
    meeting->ready++;
    if (meeting->ready == 2)
        pthread_cond_broadcast(&meeting->changed);
    while (meeting->ready < 2)
        pthread_cond_wait(&meeting->changed, &meeting->lock);
    pthread_mutex_unlock(&meeting->lock);
    if (pthread_barrier_wait(&meeting->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
        sum = counts[0] + counts[1];
        pthread_cond_destroy(&meeting->changed);
        pthread_barrier_destroy(&meeting->barrier);
        free(meeting);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    meeting = calloc(1, sizeof *meeting);
    pthread_barrier_init(&meeting->barrier, NULL, 2);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, thread, i ? &sum : NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return sum == 2 ? 0 : 1;
}
