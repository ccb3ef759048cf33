// Big allocations of which little is touched, in two threads; realloc moves one.
// Expect: clean
#include <pthread.h>
#include <stdlib.h>

static void *work(void *unused) {
    size_t size = (size_t)1 << 30;
    char *big = malloc(size), *zero = calloc(1, size);
    if (!big || !zero)
        abort();
    big[0] = 1;
    big[size - 1] = 2;
    if (zero[size / 2] != 0)
        abort();
    free(zero);
    big = realloc(big, size + size / 2);
    if (!big || big[0] != 1 || big[size - 1] != 2)
        abort();
    free(big);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    work(NULL);
    pthread_join(thread, NULL);
    return 0;
}
