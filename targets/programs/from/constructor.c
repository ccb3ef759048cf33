// A static constructor starts a thread, works with it for long, and leaves it waiting for jobs. Its threads take and leave locks
// all the time until `main`. Then `main` gives it a job. Wrong: the result is published by a relaxed store.
// Expect: race
// Options: --from main
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int job, early;
static int result;
static atomic_int done;

static void *worker(void *unused) {
    pthread_mutex_lock(&mutex);
    for (;;) {
        while (job == 0) pthread_cond_wait(&changed, &mutex);
        if (job == 2) break;
        if (job == 3) {
            early++;
            job = 0;
            pthread_cond_broadcast(&changed);
            continue;
        }
        job = 0;
        pthread_mutex_unlock(&mutex);
        result = 42;
#ifdef BUGGY
        atomic_store_explicit(&done, 1, memory_order_relaxed);
#else
        atomic_store_explicit(&done, 1, memory_order_release);
#endif
        pthread_mutex_lock(&mutex);
    }
    pthread_mutex_unlock(&mutex);
    return unused;
}

static pthread_t thread;

static void *short_lived(void *count) {
    ++*(int *)count;
    return NULL;
}

__attribute__((constructor)) static void begin(void) {
    pthread_create(&thread, NULL, worker, NULL);
    int count = 0;
    for (int i = 0; i < 3; i++) {
        pthread_t other;
        pthread_create(&other, NULL, short_lived, &count);
        pthread_join(other, NULL);
    }
    if (count != 3) abort();
    for (int i = 0; i < 60; i++) {
        pthread_mutex_lock(&mutex);
        job = 3;
        pthread_cond_broadcast(&changed);
        while (job != 0) pthread_cond_wait(&changed, &mutex);
        pthread_mutex_unlock(&mutex);
    }
}

static inline __attribute__((always_inline)) void ask(int what) {
    pthread_mutex_lock(&mutex);
    job = what;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

void never(void) { abort(); }

int main(void) {
    if (early != 60) return 3;
    ask(1);
    while (!atomic_load_explicit(&done, memory_order_acquire)) {}
    int seen = result;
    ask(2);
    pthread_join(thread, NULL);
    return seen == 42 ? 0 : 1;
}
