// A weak compare-and-swap that nobody else is in the way of, and that is expected to succeed: an exclusive store may
// fail for no reason. Right: it is tried again.
// Expect: exit
// Flags: -march=armv8-a -mno-outline-atomics
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int lock, other;

static void *work(void *unused) {
    atomic_store_explicit(&other, 1, memory_order_relaxed);
    return unused;
}

int main(void) {
    pthread_t thread;
    int expected = 0, tries = 0;
    pthread_create(&thread, NULL, work, NULL);
    while (!atomic_compare_exchange_weak_explicit(&lock, &expected, 1, memory_order_acquire, memory_order_relaxed)) {
        // What it found is what it expected, all the same.
        if (expected != 0)
            return 2;
        tries += 1;
#ifdef BUGGY
        return 1;
#endif
    }
    pthread_join(thread, NULL);
    return tries < 0;
}
