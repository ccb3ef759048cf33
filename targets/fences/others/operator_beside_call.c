// An operator on an _Atomic object beside a call with another order, in a macro or on one line: it is sequentially consistent.
// Wrong: the flag is stored by a call that is relaxed.
// Unsettled: yes
// Values PUBLISH: MACRO(q) | q->data = 2; atomic_store_explicit(&q->n, 1, memory_order_relaxed); q->ready = 1; | q->data = 2; atomic_exchange_explicit(&q->n, 1, memory_order_relaxed); ready = 1;
// Values SEEN: q->ready | q->ready | ready
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct queue {
    atomic_int n;
    atomic_bool ready;
    int data;
};
static struct queue s;
atomic_bool ready;

#define MACRO(Q)                                                 \
    do {                                                         \
        (Q)->data = 2;                                           \
        atomic_store_explicit(&(Q)->n, 1, memory_order_relaxed); \
        (Q)->ready = 1;                                          \
    } while (0)

static void *writer(void *arg) {
    struct queue *q = arg;
    PUBLISH; //= right
    q->data = 2; //= wrong
    atomic_store_explicit(&SEEN, 1, memory_order_relaxed); //= wrong
    return NULL;
}

static void *reader(void *arg) {
    struct queue *q = arg;
    int seen = 0; while (!seen) { atomic_load_explicit(&q->n, memory_order_relaxed); seen = SEEN; }
    assert(q->data == 2);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, writer, &s);
    pthread_create(&b, NULL, reader, &s);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
