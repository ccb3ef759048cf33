// A counter of two words, which change together: compare-and-swap by LDXP and STXP, as clang writes it. What did not
// compare equal is stored back, since two words were read as one only if they could be stored.
// Wrong: the words change one after the other. Right: together.
// Expect: assertion
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

struct pair {
    _Alignas(16) _Atomic uint64_t low;
    _Atomic uint64_t high;
};

static struct pair counter;

#ifdef BUGGY
static void count(void) {
    atomic_fetch_add_explicit(&counter.low, 1, memory_order_relaxed);
    uint64_t high = atomic_load_explicit(&counter.high, memory_order_relaxed);
    atomic_store_explicit(&counter.high, high + 2, memory_order_relaxed);
}
#else
static int replace(uint64_t *low, uint64_t *high, uint64_t new_low, uint64_t new_high) {
    uint64_t old_low, old_high;
    uint32_t status;
    __asm__ volatile("1: ldaxp %0, %1, [%3]\n"
                     "   cmp %0, %4\n"
                     "   cset %w2, ne\n"
                     "   cmp %1, %5\n"
                     "   cinc %w2, %w2, ne\n"
                     "   cbz %w2, 2f\n"
                     "   stlxp %w2, %0, %1, [%3]\n"
                     "   cbnz %w2, 1b\n"
                     "   b 3f\n"
                     "2: stlxp %w2, %6, %7, [%3]\n"
                     "   cbnz %w2, 1b\n"
                     "3:"
                     : "=&r"(old_low), "=&r"(old_high), "=&r"(status)
                     : "r"(&counter), "r"(*low), "r"(*high), "r"(new_low), "r"(new_high)
                     : "memory", "cc");
    // The status is what the loop ends with.
    assert(status == 0);
    int equal = old_low == *low && old_high == *high;
    *low = old_low;
    *high = old_high;
    return equal;
}

static void count(void) {
    uint64_t low = 0, high = 0;
    while (!replace(&low, &high, low + 1, high + 2))
        ;
}
#endif

static void *counts(void *unused) {
    count();
    count();
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, counts, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(atomic_load(&counter.low) == 4);
    assert(atomic_load(&counter.high) == 8);
    return 0;
}
