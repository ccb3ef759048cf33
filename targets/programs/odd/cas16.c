// A value with a version, changed together by a 16-byte compare-and-swap (CMPXCHG16B).
// Expect: clean
// Flags: -mcx16
#include <pthread.h>
#include <stddef.h>

typedef unsigned __int128 pair;

static _Alignas(16) pair shared;

static pair load(void) {
    return __sync_val_compare_and_swap(&shared, 0, 0);
}

static void *add(void *unused) {
    for (int i = 0; i < 2; ++i) {
        pair old = load(), now;
        for (;;) {
            pair changed = ((old >> 64) + 1) << 64 | ((unsigned long)old + 10);
            now = __sync_val_compare_and_swap(&shared, old, changed);
            if (now == old)
                break;
            old = now;
        }
    }
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, add, NULL);
    pthread_create(&b, NULL, add, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pair last = load();
    return (unsigned long)(last >> 64) != 4 || (unsigned long)last != 40;
}
