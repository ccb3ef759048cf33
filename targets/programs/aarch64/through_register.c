// A message that memcpy writes and strlen reads, both called through registers, as everything is with -fno-plt.
// Wrong: the flag is relaxed. Right: it releases and is acquired.
// Flags: -fno-plt -fno-builtin
// Expect: race
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static char message[32];
static atomic_int ready;

static void *writes(void *unused) {
    memcpy(message, "a message, of 26 letters..", 27);
#ifdef BUGGY
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
#else
    atomic_store_explicit(&ready, 1, memory_order_release);
#endif
    return unused;
}

static void *reads(void *unused) {
    if (atomic_load_explicit(&ready, memory_order_acquire)) {
        size_t length = strlen(message);
        assert(length == 26);
    }
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, writes, NULL);
    pthread_create(&threads[1], NULL, reads, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
