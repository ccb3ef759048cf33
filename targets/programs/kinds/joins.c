// Wrong and right ways to join and detach threads; the first argument says which.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

static pthread_t first;
static sem_t go;

static void *idle(void *unused) { return unused; }

static void *waits(void *unused) {
    sem_wait(&go);
    return unused;
}

static void *joins_itself(void *unused) {
    pthread_join(pthread_self(), NULL);
    return unused;
}

static void *joins_first(void *unused) {
    pthread_join(first, NULL);
    return unused;
}

static void *detaches_itself(void *unused) {
    pthread_detach(pthread_self());
    return unused;
}

int main(int argc, char **argv) {
    const char *want = argc > 1 ? argv[1] : "";
    pthread_t t, u;
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    sem_init(&go, 0, 0);
#define IS(name) (!strcmp(want, name))
    if (IS("twice")) {
        pthread_create(&t, NULL, idle, NULL);
        pthread_join(t, NULL);
        pthread_join(t, NULL);
    } else if (IS("twice with others")) {
        pthread_create(&t, NULL, idle, NULL);
        pthread_create(&u, NULL, waits, NULL);
        pthread_join(t, NULL);
        pthread_join(t, NULL);
        sem_post(&go);
        pthread_join(u, NULL);
    } else if (IS("by two")) {
        pthread_create(&first, NULL, waits, NULL);
        pthread_create(&t, NULL, joins_first, NULL);
        pthread_create(&u, NULL, joins_first, NULL);
        sem_post(&go);
        pthread_join(t, NULL);
        pthread_join(u, NULL);
    } else if (IS("detached")) {
        pthread_create(&t, NULL, waits, NULL);
        pthread_detach(t);
        pthread_join(t, NULL);
        sem_post(&go);
    } else if (IS("created detached")) {
        pthread_create(&t, &detached, waits, NULL);
        pthread_join(t, NULL);
        sem_post(&go);
    } else if (IS("itself")) {
        pthread_create(&t, NULL, joins_itself, NULL);
        pthread_join(t, NULL);
    } else if (IS("main itself")) {
        pthread_create(&t, NULL, waits, NULL);
        pthread_join(pthread_self(), NULL);
        sem_post(&go);
        pthread_join(t, NULL);
    } else if (IS("detached twice")) {
        pthread_create(&t, NULL, waits, NULL);
        pthread_detach(t);
        pthread_detach(t);
        sem_post(&go);
    } else if (IS("right")) {
        for (int i = 0; i < 3; i++) {
            // The C library gives the same handle to the next thread.
            pthread_create(&t, NULL, idle, NULL);
            pthread_join(t, NULL);
        }
        pthread_create(&t, NULL, waits, NULL);
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        while (pthread_timedjoin_np(t, NULL, &now) == ETIMEDOUT)
            sem_post(&go);
        pthread_create(&t, NULL, waits, NULL);
        sem_post(&go);
        while (pthread_tryjoin_np(t, NULL) == EBUSY)
            ;
    } else if (IS("right detached")) {
        pthread_create(&t, &detached, idle, NULL);
        pthread_create(&t, NULL, detaches_itself, NULL);
        pthread_create(&u, NULL, idle, NULL);
        pthread_detach(u);
        pthread_create(&u, NULL, idle, NULL);
        pthread_join(u, NULL);
    } else if (IS("right exit")) {
        pthread_create(&t, NULL, detaches_itself, NULL);
        pthread_create(&u, &detached, idle, NULL);
        pthread_exit(NULL);
    } else {
        return 9;
    }
    return 0;
}
