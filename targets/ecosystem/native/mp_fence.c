// Message passing with fences: the data are plain, the flag is relaxed.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

static int data;
static atomic_int flag;

static void *producer(void *arg) {
    (void)arg;
    data = 42;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, producer, NULL);
    while (!atomic_load_explicit(&flag, memory_order_relaxed))
        sched_yield();
    atomic_thread_fence(memory_order_acquire);
    assert(data == 42);
    pthread_join(thread, NULL);
    return 0;
}
