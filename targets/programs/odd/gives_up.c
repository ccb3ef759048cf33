// Threads that wait for each other in vain and give up by themselves: what changes in their loops is a variable on the
// stack, a vector register, a variable on the stack that only a function called writes, and one that another thread
// changes. None of them is in the same state twice, so that none of them is stuck.
// Expect: clean
#include <assert.h>
#include <emmintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum { ROUNDS = 60 };

static atomic_int never;
static int *_Atomic counter;

static void *on_the_stack(void *unused) {
    volatile int rounds = 0;
    while (!atomic_load(&never) && rounds < ROUNDS) {
        rounds = rounds + 1;
    }
    return unused;
}

static void *in_a_register(void *unused) {
    __m128i rounds = _mm_setzero_si128();
    const __m128i one = _mm_set1_epi32(1);
    while (!atomic_load(&never) && _mm_cvtsi128_si32(rounds) < ROUNDS) {
        rounds = _mm_add_epi32(rounds, one);
    }
    return unused;
}

static __attribute__((noinline)) void count(int *rounds) {
    *rounds += 1;
}

static void *by_a_function(void *unused) {
    int rounds = 0;
    while (!atomic_load(&never) && rounds < ROUNDS) {
        count(&rounds);
    }
    return unused;
}

// Plain to the compiler, atomic to the processor: neither side is sure for wmtrace.
static void *by_another(void *unused) {
    volatile int done = 0;
    atomic_store(&counter, (int *)&done);
    while (!atomic_load(&never) && !done) {
    }
    return unused;
}

static void *the_other(void *unused) {
    int *done;
    while ((done = atomic_load(&counter)) == NULL) {
    }
    on_the_stack(NULL);
    *(volatile int *)done = 1;
    return unused;
}

int main(void) {
    void *(*const bodies[])(void *) = {on_the_stack, in_a_register, by_a_function, by_another, the_other};
    enum { COUNT = sizeof bodies / sizeof *bodies };
    pthread_t threads[COUNT];
    for (int i = 0; i < COUNT; ++i) {
        assert(pthread_create(&threads[i], NULL, bodies[i], NULL) == 0);
    }
    for (int i = 0; i < COUNT; ++i) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
