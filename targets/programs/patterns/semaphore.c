// A slot guarded by two POSIX semaphores: `empty` and `full`.
// Wrong: `full` starts with 1, so the reader need not wait for the writer. Right: with 0.
// Expect: race|exit
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

#ifdef BUGGY
enum { START = 1 };
#else
enum { START = 0 };
#endif

static sem_t empty, full;
static int slot, sum;

static void *writer(void *unused) {
    for (int i = 1; i <= 2; ++i) {
        sem_wait(&empty);
        slot = i;
        sem_post(&full);
    }
    return unused;
}

static void *reader(void *unused) {
    for (int i = 1; i <= 2; ++i) {
        sem_wait(&full);
        sum += slot;
        sem_post(&empty);
    }
    return unused;
}

int main(void) {
    pthread_t a, b;
    sem_init(&empty, 0, 1);
    sem_init(&full, 0, START);
    pthread_create(&a, NULL, writer, NULL);
    pthread_create(&b, NULL, reader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return sum != 3;
}
