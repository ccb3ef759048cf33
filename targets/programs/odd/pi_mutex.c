// A mutex with priority inheritance (FUTEX_LOCK_PI) around a counter.
// Wrong: one thread does not take it. Right: all do.
// Expect: race
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock;
static int counter;

static void *add(void *careless) {
    if (!careless)
        pthread_mutex_lock(&lock);
    counter += 1;
    if (!careless)
        pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_t threads[3];
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&lock, &attributes);
    for (int i = 0; i < 3; ++i) {
#ifdef BUGGY
        pthread_create(&threads[i], NULL, add, i == 0 ? &lock : NULL);
#else
        pthread_create(&threads[i], NULL, add, NULL);
#endif
    }
    for (int i = 0; i < 3; ++i)
        pthread_join(threads[i], NULL);
    return counter != 3;
}
