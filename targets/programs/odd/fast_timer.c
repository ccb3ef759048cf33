// A timer that is much faster than its handler, while threads work: none of them may starve.
// Expect: clean
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/time.h>

enum { ROUNDS = 2000, SLOW = 400 };
static atomic_int ticks, count;

static void on_alarm(int signal) {
    (void)signal;
    for (int i = 0; i < SLOW; i++)
        atomic_fetch_add_explicit(&ticks, 1, memory_order_relaxed);
}

static void *counts(void *unused) {
    for (int i = 0; i < ROUNDS; i++)
        atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    return unused;
}

int main(void) {
    struct itimerval every = {{0, 50}, {0, 50}}, off = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    pthread_t one, two;
    sigaction(SIGALRM, &action, NULL);
    pthread_create(&one, NULL, counts, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    pthread_create(&two, NULL, counts, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    setitimer(ITIMER_REAL, &off, NULL);
    return count != 2 * ROUNDS || ticks == 0;
}
