// The first thread leaves with a robust mutex held; the next owner is told, and repairs it.
// Wrong: the mutex is not robust, so nobody ever gets it again. Right: it is.
// Expect: deadlock
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock;
static atomic_int held;

static void *next(void *unused) {
    while (!atomic_load(&held)) {
    }
    int result = pthread_mutex_lock(&lock);
    if (result == EOWNERDEAD)
        pthread_mutex_consistent(&lock);
    else if (result != 0)
        _exit(1);
    pthread_mutex_unlock(&lock);
    exit(0);
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
    pthread_create(&thread, NULL, next, NULL);
    pthread_mutex_lock(&lock);
    atomic_store(&held, 1);
    pthread_exit(NULL);
}
