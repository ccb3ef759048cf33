// The word `volatile` on the line of a plain access, which stays plain.
// Wrong: the flag is relaxed.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

static int data;
static volatile int noise[2];
static atomic_int flag;

static void *writer(void *unused) {
    volatile int mine = 0; data = 1; /* not volatile */
    (void)unused, (void)mine;
    atomic_store_explicit(&flag, 1, memory_order_release); //= right
    atomic_store_explicit(&flag, 1, memory_order_relaxed); //= wrong
    noise[0] = 1;
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    while (atomic_load_explicit(&flag, memory_order_acquire) == 0) {
        sched_yield();
    }
    volatile int seen = data; noise[1] = 1;
    assert(seen == 1);
    pthread_join(thread, NULL);
    return 0;
}
