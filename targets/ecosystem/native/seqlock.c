// A seqlock as textbooks have it: the data are relaxed atomics, the reader ends with an acquire fence in a do-while.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_uint sequence;
static atomic_int data[2];

static void write_both(int value) {
    unsigned begin = atomic_load_explicit(&sequence, memory_order_relaxed);
    atomic_store_explicit(&sequence, begin + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&data[0], value, memory_order_relaxed);
    atomic_store_explicit(&data[1], value, memory_order_relaxed);
    atomic_store_explicit(&sequence, begin + 2, memory_order_release);
}

static void *reader(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        unsigned begin;
        int a, b;
        do {
            begin = atomic_load_explicit(&sequence, memory_order_acquire);
            a = atomic_load_explicit(&data[0], memory_order_relaxed);
            b = atomic_load_explicit(&data[1], memory_order_relaxed);
            atomic_thread_fence(memory_order_acquire);
        } while ((begin & 1) || atomic_load_explicit(&sequence, memory_order_relaxed) != begin);
        assert(a == b);
    }
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, reader, NULL);
    write_both(1);
    write_both(2);
    pthread_join(thread, NULL);
    return 0;
}
