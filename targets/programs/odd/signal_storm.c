// Signals that nobody in the program times come before, behind and between its instructions: none of these is lost.
// Expect: clean
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/time.h>

enum { ROUNDS = 250 };
static atomic_int ticks, count;

static void on_alarm(int signal) {
    (void)signal;
    ticks++;
}

static void *counts(void *unused) {
    for (int i = 0; i < ROUNDS; i++)
        count++;
    return unused;
}

int main(void) {
    struct itimerval every = {{0, 300}, {0, 300}}, off = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    pthread_t one, two;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    pthread_create(&one, NULL, counts, NULL);
    pthread_create(&two, NULL, counts, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    setitimer(ITIMER_REAL, &off, NULL);
    return count != 2 * ROUNDS;
}
