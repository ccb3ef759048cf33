// Two locks in two orders, beside timers that ring again and again and that nobody hears.
// Expect: deadlock
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

static void both(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static void *one(void *unused) {
    both(&a, &b);
    return unused;
}

static void *two(void *unused) {
#ifdef BUGGY
    both(&b, &a);
#else
    both(&a, &b);
#endif
    return unused;
}

int main(void) {
    struct itimerval often = {{0, 10000}, {0, 10000}};
    struct itimerspec silent = {{0, 5000000}, {0, 5000000}};
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    pthread_t threads[2];
    timer_t timer;
    signal(SIGALRM, SIG_IGN);
    setitimer(ITIMER_REAL, &often, NULL);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &silent, NULL))
        return 1;
    pthread_create(&threads[0], NULL, one, NULL);
    pthread_create(&threads[1], NULL, two, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
