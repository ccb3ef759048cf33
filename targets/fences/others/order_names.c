// Names for orders.
// Wrong: the names stand for weaker ones.
// Unsettled: yes
// Values G: -g | -g3
// Flags: G
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#define rlx memory_order_relaxed
#define publishing memory_order_release //= right
#define publishing rlx //= wrong
#define acq memory_order_acquire

static int data;
static atomic_int flag, count;

static void *writer(void *unused) {
    (void)unused;
    atomic_fetch_add_explicit(&count, 1, rlx);
    data = 1;
    atomic_store_explicit(&flag, 1, publishing);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    atomic_fetch_add_explicit(&count, 1, rlx);
    while (atomic_load_explicit(&flag, acq) == 0) {
        sched_yield();
    }
    assert(data == 1);
    pthread_join(thread, NULL);
    return 0;
}
