// Who waits in the kernel for some time, in vain, finds that so much time has passed.
// Expect: clean
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/select.h>
#include <time.h>

static long long now(void) {
    struct timespec it;
    clock_gettime(CLOCK_MONOTONIC, &it);
    return it.tv_sec * 1000000000LL + it.tv_nsec;
}

// Waits as event loops do: for what is left of the time, until the time has come.
static void waits(long long nanoseconds, int by_select) {
    long long end = now() + nanoseconds;
    int rounds = 0;
    for (long long left; (left = end - now()) > 0; ++rounds) {
        if (rounds == 2)
            abort();
        struct timespec it = {0, left};
        if (by_select)
            pselect(0, NULL, NULL, NULL, &it, NULL);
        else
            poll(NULL, 0, (int)(left / 1000000) + 1);
    }
}

static void *waiter(void *by_select) {
    waits(3000000, by_select != NULL);
    return NULL;
}

int main(void) {
    waits(3000000, 0);
    waits(3000000, 1);
    pthread_t a, b;
    pthread_create(&a, NULL, waiter, NULL);
    pthread_create(&b, NULL, waiter, &a);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
