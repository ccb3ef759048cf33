// A pair behind a readers-writer lock.
// Wrong: the writer takes the lock as a reader. Right: as a writer.
// Expect: race
#include <pthread.h>
#include <stddef.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int a, b;

static void *writer(void *unused) {
#ifdef BUGGY
    pthread_rwlock_rdlock(&lock);
#else
    pthread_rwlock_wrlock(&lock);
#endif
    a += 1;
    b += 1;
    pthread_rwlock_unlock(&lock);
    return unused;
}

static void *reader(void *unused) {
    pthread_rwlock_rdlock(&lock);
    int torn = a != b;
    pthread_rwlock_unlock(&lock);
    return torn ? &lock : unused;
}

int main(void) {
    pthread_t w, r[2];
    void *torn[2];
    pthread_create(&r[0], NULL, reader, NULL);
    pthread_create(&w, NULL, writer, NULL);
    pthread_create(&r[1], NULL, reader, NULL);
    pthread_join(w, NULL);
    pthread_join(r[0], &torn[0]);
    pthread_join(r[1], &torn[1]);
    return torn[0] != NULL || torn[1] != NULL;
}
