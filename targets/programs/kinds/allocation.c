// A block is made known to another thread. Wrong: relaxed. Right: released and acquired, or by other means.
// The first argument says which.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int *_Atomic shared;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int *guarded;

static void *makes_relaxed(void *unused) {
    atomic_int *made = calloc(4, sizeof *made);
    atomic_store_explicit(&shared, made, memory_order_relaxed);
    return unused;
}

static void *reads_relaxed(void *unused) {
    atomic_int *found = atomic_load_explicit(&shared, memory_order_relaxed);
    if (found)
        atomic_fetch_add_explicit(&found[1], 1, memory_order_relaxed);
    return unused;
}

static void *makes(void *unused) {
    atomic_int *made = calloc(4, sizeof *made);
    atomic_store_explicit(&shared, made, memory_order_release);
    return unused;
}

static void *reads(void *unused) {
    atomic_int *found = atomic_load_explicit(&shared, memory_order_acquire);
    if (found)
        atomic_fetch_add_explicit(&found[1], 1, memory_order_relaxed);
    return unused;
}

static void *makes_guarded(void *unused) {
    pthread_mutex_lock(&mutex);
    if (!guarded)
        guarded = calloc(4, sizeof *guarded);
    atomic_fetch_add_explicit(guarded, 1, memory_order_relaxed);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *makes_fenced(void *unused) {
    atomic_int *made = calloc(4, sizeof *made);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&shared, made, memory_order_relaxed);
    return unused;
}

static void *reads_fenced(void *unused) {
    atomic_int *found = atomic_load_explicit(&shared, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    if (found)
        atomic_load_explicit(found, memory_order_relaxed);
    return unused;
}

int main(int argc, char **argv) {
    const char *want = argc > 1 ? argv[1] : "";
    pthread_t t, u;
    if (!strcmp(want, "relaxed")) {
        pthread_create(&t, NULL, makes_relaxed, NULL);
        pthread_create(&u, NULL, reads_relaxed, NULL);
    } else if (!strcmp(want, "right released")) {
        pthread_create(&t, NULL, makes, NULL);
        pthread_create(&u, NULL, reads, NULL);
    } else if (!strcmp(want, "right guarded")) {
        pthread_create(&t, NULL, makes_guarded, NULL);
        pthread_create(&u, NULL, makes_guarded, NULL);
    } else if (!strcmp(want, "right fenced")) {
        pthread_create(&t, NULL, makes_fenced, NULL);
        pthread_create(&u, NULL, reads_fenced, NULL);
    } else {
        return 9;
    }
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    free(shared);
    free(guarded);
    return 0;
}
