// Two threads take two mutexes.
// Wrong: in opposite order, so each may hold one and wait for the other. Right: in the same order.
// Expect: deadlock
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static int moved;

static void move(pthread_mutex_t *from, pthread_mutex_t *to) {
    pthread_mutex_lock(from);
    pthread_mutex_lock(to);
    moved += 1;
    pthread_mutex_unlock(to);
    pthread_mutex_unlock(from);
}

static void *first(void *unused) {
    move(&a, &b);
    return unused;
}

static void *second(void *unused) {
#ifdef BUGGY
    move(&b, &a);
#else
    move(&a, &b);
#endif
    return unused;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, NULL, first, NULL);
    pthread_create(&u, NULL, second, NULL);
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    return moved != 2;
}
