// The last thing that a function does is to free what another thread still reads: optimised, it jumps to free().
// Wrong: nobody waits for the reader. Right: the reader is joined first.
// Expect: use_after_free|race
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(atomic_int *) shared;

static void *reader(void *unused) {
    atomic_load(atomic_load(&shared));
    return unused;
}

__attribute__((noinline)) static void discard(void) {
    free(atomic_load(&shared));
}

int main(void) {
    pthread_t thread;
    atomic_store(&shared, calloc(1, sizeof(atomic_int)));
    pthread_create(&thread, NULL, reader, NULL);
#ifdef BUGGY
    discard();
    pthread_join(thread, NULL);
#else
    pthread_join(thread, NULL);
    discard();
#endif
    return 0;
}
