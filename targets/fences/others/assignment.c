// Assignment to an _Atomic is a store (though compiled to xchg): it reads nothing, so the memory may be fresh, and it does
// not acquire.
// Wrong: the second thread knows by a relaxed load only that the data are written.
// Values SET: box->flag = 2 | SET_FLAG(2) | atomic_store(&box->flag, 2)
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define SET_FLAG(value) atomic_store(&box->flag, value)

struct box {
    _Atomic int flag;
    atomic_int seen;
    int data;
};

static void *writer(void *argument) {
    struct box *box = argument;
    box->data = 1;
    atomic_store_explicit(&box->flag, 1, memory_order_release);
    atomic_store_explicit(&box->seen, 1, memory_order_relaxed);
    return NULL;
}

int main(void) {
    struct box *box = malloc(sizeof *box);
    box->seen = 0;
    SET;
    pthread_t thread;
    pthread_create(&thread, NULL, writer, box);
    while (atomic_load_explicit(&box->seen, memory_order_relaxed) == 0) {
        sched_yield();
    }
    if (atomic_load_explicit(&box->flag, memory_order_acquire) == 1) { //= right
    SET; //= wrong
    if (atomic_load_explicit(&box->flag, memory_order_relaxed) != 0) { //= wrong
        assert(box->data == 1);
    }
    pthread_join(thread, NULL);
    free(box);
    return 0;
}
