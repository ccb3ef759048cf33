// Shared data is copied by REP MOVSB, which the compiler puts in place of memcpy.
// Wrong: published relaxed. Right: release and acquire.
// Flags: -O2 -minline-all-stringops -mmemcpy-strategy=rep_byte:-1:noalign
// Expect: race
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

static char source[600], shared[600], copy[600];
static atomic_int flag;

static void *writer(void *unused) {
    memcpy(shared, source, sizeof shared);
#ifdef BUGGY
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
#else
    atomic_store_explicit(&flag, 1, memory_order_release);
#endif
    return unused;
}

static void *reader(void *unused) {
    if (atomic_load_explicit(&flag, memory_order_acquire))
        memcpy(copy, shared, sizeof copy);
    return unused;
}

int main(void) {
    pthread_t a, b;
    for (int i = 0; i < 600; ++i)
        source[i] = copy[i] = (char)i;
    pthread_create(&a, NULL, writer, NULL);
    pthread_create(&b, NULL, reader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    for (int i = 0; i < 600; ++i) {
        if (copy[i] != (char)i)
            return 1;
    }
    return 0;
}
