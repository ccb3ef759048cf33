// The C library's memset, memcpy and strcmp work on shared data.
// Wrong: without the mutex in one of the threads. Right: with it.
// Flags: -fno-builtin
// Expect: race
#include <pthread.h>
#include <stddef.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char shared[64] = "aaaa", copy[64] = "aaaa";

static void *writer(void *unused) {
    pthread_mutex_lock(&lock);
    memset(shared, 'b', 4);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *reader(void *unused) {
#ifndef BUGGY
    pthread_mutex_lock(&lock);
#endif
    memcpy(copy, shared, sizeof copy);
#ifndef BUGGY
    pthread_mutex_unlock(&lock);
#endif
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, writer, NULL);
    pthread_create(&b, NULL, reader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return strcmp(copy, "aaaa") != 0 && strcmp(copy, "bbbb") != 0;
}
