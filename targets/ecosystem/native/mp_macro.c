// Message passing with fences inside of macros and inline functions, as kernels and runtimes name them.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#define rlx memory_order_relaxed
#define smp_wmb() atomic_thread_fence(memory_order_release)
#define READ(x) atomic_load_explicit(&(x), rlx)
#define WRITE(x, v) atomic_store_explicit(&(x), (v), rlx)
static inline void smp_rmb(void) { atomic_thread_fence(memory_order_acquire); }

static int data[2];
static atomic_int flag;

static void *producer(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        data[i] = 42;
        smp_wmb();
        WRITE(flag, i + 1);
    }
    return NULL;
}

static void *consumer(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        int seen;
        while ((seen = READ(flag)) <= i)
            sched_yield();
        smp_rmb();
        for (int j = 0; j < seen; j++)
            assert(data[j] == 42);
    }
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
