// The signal of a POSIX timer comes, in real time, while a thread counts.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

static atomic_int rang, counter;

static void ring(int signal) {
    (void)signal;
    atomic_store(&rang, 1);
}

static void *count(void *unused) {
    while (!atomic_load(&rang))
        atomic_fetch_add(&counter, 1);
    return unused;
}

int main(void) {
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
    struct itimerspec soon = {{0, 0}, {0, 20000000}};
    pthread_t thread;
    timer_t timer;
    signal(SIGUSR2, ring);
    pthread_create(&thread, NULL, count, NULL);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &soon, NULL);
    pthread_join(thread, NULL);
    return 0;
}
