// Store buffering by inline assembly: what a locked instruction there means nobody says, so it means what the processor
// does, a full barrier. Wrong: the stores are moves, which are none. Right: they are exchanges, or a locked addition to
// the stack follows them.
// Expect: assertion
// Options: --races off
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static int x, y;
static int first, second;

static void store(int *at) {
#ifdef BUGGY
    __asm__ volatile("movl $1, %0" : "=m"(*at));
#else
    static int z;
    int one = 1;
    if (at == &x) {
        __asm__ volatile("xchgl %0, %1" : "+r"(one), "+m"(*at) : : "memory");
    } else {
        __asm__ volatile("movl $1, %0\n\tlock; addl $0, %1" : "=m"(*at), "+m"(z) : : "memory", "cc");
    }
#endif
}

static int load(int *at) {
    int value;
    __asm__ volatile("movl %1, %0" : "=r"(value) : "m"(*at) : "memory");
    return value;
}

static void *one(void *unused) {
    store(&x);
    first = load(&y);
    return unused;
}

static void *two(void *unused) {
    store(&y);
    second = load(&x);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, one, NULL);
    pthread_create(&threads[1], NULL, two, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert(first == 1 || second == 1);
    return 0;
}
