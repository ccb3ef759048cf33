// A timer that is faster than its handler runs under control: the program goes on all the same, one operation after each
// signal.
// Expect: clean
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/time.h>

#define ROUNDS 100

static atomic_int ticks, done;

static void on_alarm(int signal) {
    (void)signal;
    atomic_fetch_add_explicit(&ticks, 1, memory_order_relaxed);
}

static void *counts(void *unused) {
    for (int i = 0; i < ROUNDS; i++)
        atomic_fetch_add_explicit(&done, 1, memory_order_relaxed);
    return unused;
}

int main(void) {
    struct itimerval every = {{0, 20}, {0, 20}}, off = {{0, 0}, {0, 0}};
    pthread_t thread;
    signal(SIGALRM, on_alarm);
    pthread_create(&thread, NULL, counts, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    pthread_join(thread, NULL);
    setitimer(ITIMER_REAL, &off, NULL);
    return done != ROUNDS;
}
