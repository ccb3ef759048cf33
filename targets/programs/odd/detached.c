// A detached thread reports by a semaphore and may still run when main returns.
// Expect: clean
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static sem_t done;
static int value;

static void *work(void *unused) {
    value = 42;
    sem_post(&done);
    return unused;
}

int main(void) {
    pthread_t thread;
    sem_init(&done, 0, 0);
    pthread_create(&thread, NULL, work, NULL);
    pthread_detach(thread);
    sem_wait(&done);
    return value != 42;
}
