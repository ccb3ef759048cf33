// Wrong and right ways to use what synchronises; the first argument says which.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore, handed;
static atomic_int flag;
static int ready, count;

static void *idle(void *unused) { return unused; }

static void *locks(void *unused) {
    pthread_mutex_lock(&mutex);
    count++;
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *locks_for_good(void *unused) {
    pthread_mutex_lock(&mutex);
    sem_post(&handed);
    return unused;
}

static void *reads_for_good(void *unused) {
    pthread_rwlock_rdlock(&rwlock);
    sem_post(&handed);
    return unused;
}

static void *waits(void *unused) {
    pthread_mutex_lock(&mutex);
    while (!ready)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *waits_with_other(void *unused) {
    pthread_mutex_lock(&mutex);
    ready = 1;
    struct timespec soon = {0, 1000};
    pthread_cond_timedwait(&condition, &other, &soon);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *takes(void *unused) {
    sem_wait(&semaphore);
    return unused;
}

static void *signals(void *unused) {
    pthread_cond_signal(&condition);
    return unused;
}

static void *posts(void *unused) {
    sem_post(&semaphore);
    return unused;
}

static void *meets(void *unused) {
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
        pthread_barrier_destroy(&barrier);
    return unused;
}

static void *reads(void *unused) {
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    return unused;
}

static void *unlocks(void *unused) {
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *unlocks_rwlock(void *unused) {
    pthread_rwlock_unlock(&rwlock);
    return unused;
}

static void *locks_this(void *it) {
    pthread_mutex_lock(it);
    pthread_mutex_unlock(it);
    return NULL;
}

static void *posts_this(void *it) {
    sem_post(it);
    return NULL;
}

/* Blocks that were other things before, and are mutexes for a while. */
static void *many_lives(void *unused) {
    for (int i = 0; i < 3; i++) {
        unsigned char *block = malloc(64);
        memset(block, 0xff, 64);
        free(block);
        pthread_mutex_t *here = malloc(sizeof *here);
        pthread_mutex_init(here, NULL);
        pthread_mutex_lock(here);
        pthread_mutex_unlock(here);
        pthread_mutex_destroy(here);
        if (i == 1) {
            *here = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
            pthread_mutex_lock(here);
            pthread_mutex_unlock(here);
        }
        pthread_rwlock_t *next = i ? (void *)here : realloc(here, 64);
        if (i) {
            free(here);
            next = malloc(64);
        }
        memset(next, 0, 64);
        pthread_rwlock_wrlock(next);
        pthread_rwlock_unlock(next);
        pthread_rwlock_destroy(next);
        memset(next, 0, 64);
        pthread_rwlock_rdlock(next);
        pthread_rwlock_unlock(next);
        pthread_rwlock_destroy(next);
        pthread_rwlock_init(next, NULL);
        pthread_rwlock_rdlock(next);
        pthread_rwlock_unlock(next);
        free(next);
        pthread_mutex_t *zeroes = calloc(1, sizeof *zeroes);
        pthread_mutex_lock(zeroes);
        pthread_mutex_unlock(zeroes);
        free(zeroes);
    }
    return unused;
}

/* The same place on the stack, again and again. */
static void *on_stack(void *unused) {
    for (int i = 0; i < 3; i++) {
        pthread_mutex_t here = PTHREAD_MUTEX_INITIALIZER;
        pthread_rwlock_t there = PTHREAD_RWLOCK_INITIALIZER;
        pthread_mutex_lock(&here);
        pthread_rwlock_rdlock(&there);
        pthread_rwlock_unlock(&there);
        pthread_mutex_unlock(&here);
        pthread_mutex_destroy(&here);
        pthread_rwlock_destroy(&there);
    }
    return unused;
}

static void *checking(void *unused) {
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_t here;
    pthread_mutex_init(&here, &kind);
    assert(pthread_mutex_unlock(&here) == EPERM);
    pthread_mutex_lock(&here);
    assert(pthread_mutex_lock(&here) == EDEADLK);
    pthread_mutex_unlock(&here);
    pthread_mutex_destroy(&here);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&here, &kind);
    pthread_mutex_lock(&here);
    pthread_mutex_lock(&here);
    pthread_mutex_unlock(&here);
    pthread_mutex_unlock(&here);
    pthread_mutex_destroy(&here);
    mtx_t plain;
    cnd_t wakes;
    mtx_init(&plain, mtx_timed);
    cnd_init(&wakes);
    mtx_lock(&plain);
    cnd_signal(&wakes);
    mtx_unlock(&plain);
    cnd_destroy(&wakes);
    mtx_destroy(&plain);
    return unused;
}

static pthread_mutex_t robust;

static void *dies(void *unused) {
    pthread_mutex_lock(&robust);
    return unused;
}

static void *inherits(void *unused) {
    if (pthread_mutex_lock(&robust) == EOWNERDEAD)
        pthread_mutex_consistent(&robust);
    pthread_mutex_unlock(&robust);
    return unused;
}

int main(int argc, char **argv) {
    const char *want = argc > 1 ? argv[1] : "";
    pthread_t t, u;
    sem_init(&handed, 0, 0);
#define IS(name) (!strcmp(want, name))
#define START(t, f, a) pthread_create(&t, NULL, f, a)
#define END(t) pthread_join(t, NULL)
    if (IS("destroyed mutex")) {
        START(t, locks, NULL);
        pthread_mutex_destroy(&mutex);
        END(t);
    } else if (IS("destroyed mutex afterwards")) {
        START(t, locks, NULL);
        END(t);
        pthread_mutex_destroy(&mutex);
        pthread_mutex_lock(&mutex);
    } else if (IS("destroyed condition")) {
        START(t, idle, NULL);
        pthread_cond_destroy(&condition);
        START(u, signals, NULL);
        END(t);
        END(u);
    } else if (IS("destroyed rwlock")) {
        START(t, idle, NULL);
        pthread_rwlock_destroy(&rwlock);
        START(u, reads, NULL);
        END(t);
        END(u);
    } else if (IS("destroyed semaphore")) {
        START(t, idle, NULL);
        sem_init(&semaphore, 0, 0);
        sem_destroy(&semaphore);
        START(u, posts, NULL);
        END(t);
        END(u);
    } else if (IS("destroyed barrier")) {
        pthread_barrier_init(&barrier, NULL, 1);
        START(t, meets, NULL);
        START(u, meets, NULL);
        END(t);
        END(u);
    } else if (IS("destroyed twice")) {
        START(t, idle, NULL);
        pthread_mutex_destroy(&mutex);
        pthread_mutex_destroy(&mutex);
        END(t);
    } else if (IS("uninitialised mutex")) {
        START(t, idle, NULL);
        pthread_mutex_t *it = malloc(sizeof *it);
        START(u, locks_this, it);
        END(t);
        END(u);
    } else if (IS("uninitialised semaphore")) {
        START(t, idle, NULL);
        sem_t *it = malloc(sizeof *it);
        START(u, posts_this, it);
        END(t);
        END(u);
    } else if (IS("destroys locked")) {
        START(t, locks_for_good, NULL);
        sem_wait(&handed);
        pthread_mutex_destroy(&mutex);
        END(t);
    } else if (IS("destroys locked afterwards")) {
        START(t, locks_for_good, NULL);
        END(t);
        pthread_mutex_destroy(&mutex);
    } else if (IS("destroys locked rwlock")) {
        START(t, reads_for_good, NULL);
        sem_wait(&handed);
        pthread_rwlock_destroy(&rwlock);
        END(t);
    } else if (IS("initialises locked")) {
        START(t, locks_for_good, NULL);
        sem_wait(&handed);
        pthread_mutex_init(&mutex, NULL);
        END(t);
    } else if (IS("destroys semaphore with waiter")) {
        sem_init(&semaphore, 0, 0);
        START(t, takes, NULL);
        thrd_sleep(&(struct timespec){0, 1000}, NULL);
        sem_destroy(&semaphore);
        sem_post(&semaphore);
        END(t);
    } else if (IS("foreign unlock")) {
        START(t, locks_for_good, NULL);
        sem_wait(&handed);
        pthread_mutex_unlock(&mutex);
        END(t);
    } else if (IS("unlock of unlocked")) {
        START(t, unlocks, NULL);
        END(t);
    } else if (IS("unlock of unlocked afterwards")) {
        START(t, locks, NULL);
        END(t);
        pthread_mutex_unlock(&mutex);
    } else if (IS("unlock of unlocked rwlock")) {
        START(t, unlocks_rwlock, NULL);
        END(t);
    } else if (IS("waits with unlocked")) {
        START(t, waits_with_other, NULL);
        END(t);
    } else if (IS("right locks")) {
        START(t, locks, NULL);
        START(u, locks, NULL);
        END(t);
        END(u);
        pthread_mutex_destroy(&mutex);
        mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
        pthread_mutex_destroy(&mutex);
        pthread_mutex_init(&mutex, NULL);
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    } else if (IS("right lives")) {
        START(t, many_lives, NULL);
        START(u, on_stack, NULL);
        END(t);
        END(u);
    } else if (IS("right checking")) {
        START(t, checking, NULL);
        START(u, checking, NULL);
        END(t);
        END(u);
    } else if (IS("right robust")) {
        pthread_mutexattr_t kind;
        pthread_mutexattr_init(&kind);
        pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(&robust, &kind);
        START(t, dies, NULL);
        END(t);
        START(u, inherits, NULL);
        END(u);
        pthread_mutex_destroy(&robust);
    } else if (IS("right condition")) {
        START(t, waits, NULL);
        START(u, waits, NULL);
        pthread_mutex_lock(&mutex);
        ready = 1;
        pthread_cond_broadcast(&condition);
        pthread_mutex_unlock(&mutex);
        END(t);
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
        END(u);
        pthread_cond_destroy(&condition);
    } else if (IS("right barrier")) {
        pthread_barrier_init(&barrier, NULL, 2);
        START(t, meets, NULL);
        START(u, meets, NULL);
        END(t);
        END(u);
    } else if (IS("right semaphore")) {
        sem_init(&semaphore, 0, 0);
        START(t, posts, NULL);
        sem_wait(&semaphore);
        sem_destroy(&semaphore);
        END(t);
    } else {
        return 9;
    }
    return 0;
}
