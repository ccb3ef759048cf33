// Threads are cancelled where they block; their clean-up handlers run.
// Wrong: the handler does not unlock the mutex, and main waits for it. Right: it does.
// Expect: deadlock
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t started, never;
static int cleaned;

static void clean_up(void *unused) {
    (void)unused;
    cleaned += 1;
#ifndef BUGGY
    pthread_mutex_unlock(&lock);
#endif
}

static void *work(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(clean_up, NULL);
    sem_post(&started);
    sem_wait(&never);
    pthread_cleanup_pop(1);
    return unused;
}

int main(void) {
    pthread_t thread;
    void *result;
    sem_init(&started, 0, 0);
    sem_init(&never, 0, 0);
    pthread_create(&thread, NULL, work, NULL);
    sem_wait(&started);
    pthread_cancel(thread);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, &result);
    return result != PTHREAD_CANCELED || cleaned != 1;
}
