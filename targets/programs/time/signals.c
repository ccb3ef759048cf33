// Signals that are read from a descriptor or waited for, until a time: of a timer, of another thread, or none.
// Expect: clean
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
    struct timespec it;
    clock_gettime(CLOCK_MONOTONIC, &it);
    return it.tv_sec * 1000000000LL + it.tv_nsec;
}

static pthread_t first;

static void *sends(void *unused) {
    struct timespec second = {1, 0};
    for (int i = 0; i < 2; ++i) {
        nanosleep(&second, NULL);
        pthread_kill(first, SIGUSR1);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    struct itimerval often = {{20, 0}, {20, 0}}, off = {{0, 0}, {0, 0}};
    struct signalfd_siginfo info;
    struct timespec five = {5, 0};
    sigset_t alarm, user;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    sigemptyset(&user);
    sigaddset(&user, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &user, NULL);
    first = pthread_self();
    long long begin = now();
    if (pthread_create(&thread, NULL, sends, NULL))
        return 1;
    int fd = signalfd(-1, &alarm, 0), other = signalfd(-1, &user, SFD_NONBLOCK);
    struct pollfd asked = {.fd = other, .events = POLLIN};
    if (poll(&asked, 1, 10000) != 1 || read(other, &info, sizeof info) != sizeof info)
        return 2;
    if (info.ssi_signo != SIGUSR1 || sigtimedwait(&user, NULL, &five) != SIGUSR1)
        return 3;
    if (now() - begin < 2000000000LL || now() - begin > 4000000000LL)
        return 4;
    if (poll(&asked, 1, 10000) != 0 || sigtimedwait(&user, NULL, &five) != -1 || errno != EAGAIN)
        return 5;
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 3; i++)
        if (read(fd, &info, sizeof info) != sizeof info || info.ssi_signo != SIGALRM)
            return 6;
    setitimer(ITIMER_REAL, &off, NULL);
    if (now() - begin < 77000000000LL || now() - begin > 80000000000LL)
        return 7;
    pthread_join(thread, NULL);
    return 0;
}
