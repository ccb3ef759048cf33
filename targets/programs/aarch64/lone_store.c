// An exclusive store on a way out of its loop that stores something else than what was loaded: no loop that compilers
// write, and refused. (Behind a gate it would never succeed.)
// Expect: clean
#include <pthread.h>

static int word;

static void *works(void *unused) {
    int old, status;
    __asm__ volatile("1: ldxr %w0, [%2]\n"
                     "   cbnz %w0, 2f\n"
                     "   stxr %w1, %w3, [%2]\n"
                     "   cbnz %w1, 1b\n"
                     "   b 3f\n"
                     "2: add %w0, %w0, #1\n"
                     "   stxr %w1, %w0, [%2]\n"
                     "   cbnz %w1, 1b\n"
                     "3:"
                     : "=&r"(old), "=&r"(status)
                     : "r"(&word), "r"(1)
                     : "memory");
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, works, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return word != 2;
}
