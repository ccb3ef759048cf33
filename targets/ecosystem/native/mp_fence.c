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

static void *consumer(void *arg) {
    (void)arg;
    while (!atomic_load_explicit(&flag, memory_order_relaxed))
        sched_yield();
    atomic_thread_fence(memory_order_acquire);
    assert(data == 42);
    return NULL;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, consumer, NULL);
    pthread_create(&two, NULL, producer, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
