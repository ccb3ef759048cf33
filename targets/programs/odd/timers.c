// What timers tell of themselves, and what their signals say. (The times are long enough to hold natively, too.)
// Expect: clean
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static atomic_int rung, wrong;
static timer_t timer;

/// Of `setitimer`: from the kernel.
static void on_alarm(int signal, siginfo_t *info, void *context) {
    (void)context;
    if (signal != SIGALRM || info->si_code != SI_KERNEL || info->si_pid != 0)
        wrong = 1;
    rung++;
}

static void on_timer(int signal, siginfo_t *info, void *context) {
    (void)context;
    if (signal != SIGRTMIN + 5 || info->si_code != SI_TIMER || info->si_value.sival_int != 77)
        wrong = 2;
    if (timer_getoverrun(timer) < 0)
        wrong = 3;
    rung++;
}

static void handle(int signal, void (*handler)(int, siginfo_t *, void *)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    sigaction(signal, &action, NULL);
}

static void *other(void *unused) {
    for (;;)
        pause();
    return unused;
}

int main(void) {
    pthread_t thread;
    struct itimerval twice = {{0, 20000}, {0, 20000}}, off = {{0, 0}, {0, 0}}, was;
    struct itimerspec once = {{0, 0}, {0, 30000000}}, now, never = {{0, 0}, {0, 0}};
    struct itimerspec bad = {{0, 0}, {0, 1000000000}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_value = {.sival_int = 77}};
    struct sigevent nobody = {.sigev_notify = SIGEV_NONE};
    timer_t silent;
    sigset_t set, before;
    handle(SIGALRM, on_alarm);
    handle(SIGRTMIN + 5, on_timer);
    // The other thread hears nothing of them.
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    sigaddset(&set, SIGRTMIN + 5);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    if (pthread_create(&thread, NULL, other, NULL))
        return 1;
    pthread_sigmask(SIG_SETMASK, &before, NULL);

    if (setitimer(ITIMER_REAL, &twice, NULL) || getitimer(ITIMER_REAL, &was))
        return 2;
    if (was.it_interval.tv_usec != 20000 || was.it_value.tv_sec || !was.it_value.tv_usec)
        return 3;
    while (rung < 2)
        pause();
    if (setitimer(ITIMER_REAL, &off, &was) || was.it_interval.tv_usec != 20000)
        return 4;
    alarm(50);
    unsigned left = alarm(0);
    if (left < 40 || left > 50 || alarm(0))
        return 5;

    event.sigev_signo = SIGRTMIN + 5;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_create(CLOCK_REALTIME, &nobody, &silent))
        return 6;
    if (timer_settime(timer, 0, &once, NULL) || timer_gettime(timer, &now))
        return 7;
    if (now.it_value.tv_sec || !now.it_value.tv_nsec || now.it_value.tv_nsec > 30000000)
        return 8;
    int heard = rung;
    while (rung == heard)
        pause();
    // It is over.
    if (timer_gettime(timer, &now) || now.it_value.tv_sec || now.it_value.tv_nsec)
        return 9;
    // At a time of day that has passed: at once.
    struct itimerspec past = {{0, 0}, {1, 0}};
    timer_delete(timer);
    if (timer_create(CLOCK_REALTIME, &event, &timer))
        return 10;
    heard = rung;
    if (timer_settime(timer, TIMER_ABSTIME, &past, NULL))
        return 11;
    while (rung == heard)
        nanosleep(&once.it_value, NULL);
    // One that nobody hears of runs all the same.
    if (timer_settime(silent, 0, &once, NULL) || nanosleep(&(struct timespec){0, 60000000}, NULL))
        return 12;
    if (timer_gettime(silent, &now) || now.it_value.tv_sec || now.it_value.tv_nsec)
        return 13;
    // What is no timer, no time, no clock and no memory. (The C library may look at its own memory first.)
    if (syscall(SYS_timer_settime, 12345, 0, &once, NULL) != -1 || errno != EINVAL)
        return 14;
    if (timer_settime(timer, 0, &bad, NULL) != -1 || errno != EINVAL || timer_settime(timer, 0, &never, NULL))
        return 15;
    if (syscall(SYS_setitimer, 7, &off, NULL) != -1 || errno != EINVAL)
        return 16;
    if (syscall(SYS_getitimer, ITIMER_REAL, 8) != -1 || errno != EFAULT)
        return 17;
    if (timer_delete(timer) || timer_delete(silent))
        return 18;
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    return wrong ? 20 + wrong : 0;
}
