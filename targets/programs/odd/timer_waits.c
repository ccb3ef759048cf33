// Waits that signals of timers interrupt: some begin anew, some tell what is left of them, and some are for the signals.
// Expect: clean
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static sem_t rung;

static void on_alarm(int signal) {
    (void)signal;
    sem_post(&rung);
}

static void *other(void *unused) { return unused; }

static void handle(int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    action.sa_flags = flags;
    sigaction(SIGALRM, &action, NULL);
}

int main(void) {
    pthread_t thread;
    struct itimerval soon = {{0, 0}, {0, 10000}}, often = {{0, 5000}, {0, 5000}}, off = {{0, 0}, {0, 0}};
    struct timespec before, after, rest = {0, 100000000};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL};
    struct itimerspec once = {{0, 0}, {0, 1000000}}, fast = {{0, 2000000}, {0, 2000000}};
    siginfo_t info;
    timer_t one, two;
    sigset_t set;
    sem_init(&rung, 0, 0);
    // Nobody hears of the signals that are waited for.
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (pthread_create(&thread, NULL, other, NULL))
        return 1;

    // It begins anew, and has been posted.
    handle(SA_RESTART);
    setitimer(ITIMER_REAL, &soon, NULL);
    if (sem_wait(&rung))
        return 2;
    // It does not.
    handle(0);
    setitimer(ITIMER_REAL, &soon, NULL);
    if (sem_wait(&rung) != -1 || errno != EINTR)
        return 3;
    // All of the time is slept, in parts.
    setitimer(ITIMER_REAL, &often, NULL);
    clock_gettime(CLOCK_MONOTONIC, &before);
    while (nanosleep(&rest, &rest))
        if (errno != EINTR)
            return 4;
    clock_gettime(CLOCK_MONOTONIC, &after);
    setitimer(ITIMER_REAL, &off, NULL);
    if ((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec < 100000000)
        return 5;

    // Each timer has its own signal.
    event.sigev_signo = SIGRTMIN + 1;
    event.sigev_value.sival_int = 1;
    if (timer_create(CLOCK_MONOTONIC, &event, &one))
        return 6;
    event.sigev_value.sival_int = 2;
    if (timer_create(CLOCK_MONOTONIC, &event, &two))
        return 7;
    if (timer_settime(one, 0, &once, NULL) || timer_settime(two, 0, &once, NULL))
        return 8;
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    if (sigwaitinfo(&set, &info) < 0 || info.si_value.sival_int != 1)
        return 9;
    if (sigwaitinfo(&set, &info) < 0 || info.si_value.sival_int != 2)
        return 10;
    // What it has rung in vain, it counts.
    if (timer_settime(one, 0, &fast, NULL))
        return 11;
    nanosleep(&(struct timespec){0, 21000000}, NULL);
    if (sigwaitinfo(&set, &info) < 0 || info.si_code != SI_TIMER || info.si_overrun < 5)
        return 12;
    if (timer_getoverrun(one) < 5 || timer_delete(one) || timer_delete(two))
        return 13;
    pthread_join(thread, NULL);
    return 0;
}
