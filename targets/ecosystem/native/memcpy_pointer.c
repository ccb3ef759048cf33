// memcpy by its address, as compilers do that keep it in a register: it initialises what it writes.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <assert.h>
struct s { _Atomic long a, b; char rest[624]; };
static struct s *shared, *shared2;
static void *one(void *p) { atomic_store(&shared->b, 2); assert(atomic_load(&shared->a) == 1); assert(atomic_load(&shared2->a) == 1); return p; }
static void *zero(void *p) {
    struct s s = {1, 1, {0}};
    void *(*copy)(void *, const void *, size_t) = memcpy;
    __asm__("" : "+r"(copy));
    shared = aligned_alloc(128, 640);
    copy(shared, &s, sizeof s);
    shared2 = aligned_alloc(128, 640);
    copy(shared2, &s, sizeof s);
    pthread_t x;
    pthread_create(&x, 0, one, 0);
    atomic_load(&shared->b);
    pthread_join(x, 0);
    return p;
}
int main(void) {
    pthread_t x;
    pthread_create(&x, 0, zero, 0);
    pthread_join(x, 0);
}
