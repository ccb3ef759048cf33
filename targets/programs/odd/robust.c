// A thread dies with a robust mutex; the next owner is told, and repairs it.
// Wrong: the mutex is not robust, so nobody ever gets it again. Right: it is.
// Expect: deadlock
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock;

static void *die(void *unused) {
    pthread_mutex_lock(&lock);
    return unused;
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_t thread;
    pthread_mutexattr_init(&attributes);
#ifndef BUGGY
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
#endif
    pthread_mutex_init(&lock, &attributes);
    pthread_create(&thread, NULL, die, NULL);
    pthread_join(thread, NULL);
    if (pthread_mutex_lock(&lock) != EOWNERDEAD || pthread_mutex_consistent(&lock) != 0)
        return 1;
    pthread_mutex_unlock(&lock);
    return pthread_mutex_lock(&lock) != 0;
}
