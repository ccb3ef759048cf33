// A queue lock whose nodes are on the stacks of the threads that wait: each waits for a flag of its own, which nobody else
// has touched before it is cleared. The holder must have its turn.
// Expect: clean
// Options: --model tso --timeout 20
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

struct node {
    _Alignas(64) _Atomic(struct node *) next;
    _Alignas(64) atomic_int waits;
};

static _Atomic(struct node *) tail;
static int counter;

static void lock(struct node *node, int yields) {
    atomic_store_explicit(&node->next, NULL, memory_order_relaxed);
    atomic_store_explicit(&node->waits, 1, memory_order_relaxed);
    struct node *before = atomic_exchange(&tail, node);
    if (before == NULL)
        return;
    atomic_store(&before->next, node);
    while (atomic_load(&node->waits))
        if (yields)
            sched_yield();
}

static void unlock(struct node *node) {
    struct node *expected = node;
    if (atomic_load(&node->next) == NULL && atomic_compare_exchange_strong(&tail, &expected, NULL))
        return;
    struct node *next;
    while ((next = atomic_load(&node->next)) == NULL) {
    }
    atomic_store(&next->waits, 0);
}

static void *counts(void *yields) {
    struct node node;
    lock(&node, yields != NULL);
    counter++;
    unlock(&node);
    return NULL;
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, counts, i == 1 ? &counter : NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert(counter == 3);
    return 0;
}
