// As stack.cc, in C.
// Values BEFORE: | long before; | char before[4000];
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

struct shared {
    BEFORE
    atomic_int flag;
    atomic_int count;
    int data;
};

static void *writer(void *argument) {
    struct shared *shared = argument;
    atomic_fetch_add_explicit(&shared->count, 1, memory_order_relaxed);
    shared->data = 1;
    atomic_store_explicit(&shared->flag, 1, memory_order_release); //= right
    atomic_store_explicit(&shared->flag, 1, memory_order_relaxed); //= wrong
    return NULL;
}

int main(void) {
    struct shared shared = {.data = 0};
    pthread_t thread;
    pthread_create(&thread, NULL, writer, &shared);
    int before = atomic_load_explicit(&shared.count, memory_order_relaxed);
    atomic_store_explicit(&shared.count, before + 1, memory_order_relaxed);
    while (atomic_load_explicit(&shared.flag, memory_order_acquire) == 0) {
        sched_yield();
    }
    assert(shared.data == 1);
    pthread_join(thread, NULL);
    return 0;
}
