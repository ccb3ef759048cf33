// An order that the preprocessor chooses.
// Wrong: it chooses the weak one.
// Unsettled: yes
// Values G: -g | -g3
// Flags: G
// Flags of wrong: -DWEAK
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

static int data;
static atomic_int flag;

static void *writer(void *unused) {
    (void)unused;
    data = 1;
    atomic_store_explicit(&flag, 1,
#ifdef WEAK
                          memory_order_relaxed
#else
                          memory_order_release
#endif
    );
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
#ifdef WEAK
    while (atomic_load_explicit(&flag, memory_order_relaxed) == 0) {
#else
    while (atomic_load_explicit(&flag, memory_order_acquire) == 0) {
#endif
        sched_yield();
    }
    assert(data == 1);
    pthread_join(thread, NULL);
    return 0;
}
