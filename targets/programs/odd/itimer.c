// An interval timer's signal is waited for with its mask, and an alarm is set and taken back.
// Expect: clean
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t ticks;

static void on_alarm(int signal) {
    (void)signal;
    ticks += 1;
}

static void *other(void *unused) {
    return unused;
}

int main(void) {
    struct itimerval every = {{0, 1000}, {0, 1000}}, off = {{0, 0}, {0, 0}};
    sigset_t blocked, open;
    pthread_t thread;
    signal(SIGALRM, on_alarm);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &blocked, &open);
    pthread_create(&thread, NULL, other, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    while (ticks < 2)
        sigsuspend(&open);
    setitimer(ITIMER_REAL, &off, NULL);
    alarm(100);
    unsigned left = alarm(0);
    pthread_join(thread, NULL);
    return left < 90 || left > 100;
}
