// A queue lock (MCS) whose nodes are on the stacks of the threads that wait: each spins, with PAUSE, on its own stack,
// until the one before it writes there. Wrong: the lock is handed over by a relaxed store.
// Expect: race
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct node {
    struct node *_Atomic next;
    atomic_int waits;
};

static struct node *_Atomic last;
static int counter;

static void *work(void *unused) {
    struct node node = {.next = NULL, .waits = 1};
    struct node *before = atomic_exchange_explicit(&last, &node, memory_order_acq_rel);
    if (before) {
        atomic_store_explicit(&before->next, &node, memory_order_release);
        while (atomic_load_explicit(&node.waits, memory_order_acquire)) {
            __builtin_ia32_pause();
        }
    }
    counter += 1;
    struct node *self = &node;
    if (!atomic_compare_exchange_strong_explicit(&last, &self, NULL, memory_order_acq_rel, memory_order_relaxed)) {
        struct node *next;
        while (!(next = atomic_load_explicit(&node.next, memory_order_acquire))) {
            __builtin_ia32_pause();
        }
#ifdef BUGGY
        atomic_store_explicit(&next->waits, 0, memory_order_relaxed);
#else
        atomic_store_explicit(&next->waits, 0, memory_order_release);
#endif
    }
    return unused;
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, work, NULL);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    return counter == 3 ? 0 : 1;
}
