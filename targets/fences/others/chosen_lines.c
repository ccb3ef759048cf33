// The same with a line for each fence.
// Wrong: the helper has no release fence.
// Unsettled: yes
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum { ACQUIRE = 1, RELEASE, FULL };

static int data;
static atomic_int flag;
static volatile int acquires = ACQUIRE, releases = RELEASE;

static inline void chosen(int which) {
    switch (which) {
    case ACQUIRE:
        atomic_thread_fence(memory_order_acquire);
        break;
    case RELEASE:
        atomic_thread_fence(memory_order_release); //= right
        break;
    case FULL:
        atomic_thread_fence(memory_order_seq_cst);
        break;
    }
}

static void *writer(void *unused) {
    data = 1;
    chosen(releases);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    int seen = atomic_load_explicit(&flag, memory_order_relaxed);
    chosen(acquires);
    if (seen)
        assert(data == 1);
    pthread_join(thread, NULL);
    return 0;
}
