// Two operations of different orders that gcc may make one instruction of.
// Wrong: both are weak.
// Compilers: gcc
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

static int data;
static atomic_int flag;
static volatile int quick = 0;

__attribute__((noinline)) static int look(int weak) {
    if (weak)
        return atomic_load_explicit(&flag, memory_order_relaxed);
    return atomic_load_explicit(&flag, memory_order_acquire); //= right
    return atomic_load_explicit(&flag, memory_order_relaxed); //= wrong
}

__attribute__((noinline)) static void publish(int weak) {
    if (weak) {
        atomic_store_explicit(&flag, 1, memory_order_relaxed);
    } else {
        data = 1;
        atomic_store_explicit(&flag, 1, memory_order_release); //= right
        atomic_store_explicit(&flag, 1, memory_order_relaxed); //= wrong
    }
}

static void *writer(void *unused) {
    (void)unused;
    publish(quick);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    while (look(quick) == 0) {
        sched_yield();
    }
    assert(data == 1);
    pthread_join(thread, NULL);
    return 0;
}
