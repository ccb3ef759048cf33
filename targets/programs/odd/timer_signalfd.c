// The signals of a timer are read from a descriptor, when another thread has ended that nobody has joined yet.
// Expect: clean
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <unistd.h>

static atomic_int heard;

static void *works(void *unused) {
    volatile int sum = 0;
    for (int i = 0; i < 100; i++)
        sum += i;
    return sum ? unused : NULL;
}

int main(void) {
    pthread_t thread;
    struct itimerval often = {{0, 20000}, {0, 20000}}, off = {{0, 0}, {0, 0}};
    struct signalfd_siginfo info;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (pthread_create(&thread, NULL, works, NULL) || setitimer(ITIMER_REAL, &often, NULL))
        return 1;
    int fd = signalfd(-1, &set, 0);
    for (int i = 0; i < 3; i++) {
        if (read(fd, &info, sizeof info) != sizeof info || info.ssi_signo != SIGALRM)
            return 2;
        heard++;
    }
    setitimer(ITIMER_REAL, &off, NULL);
    pthread_join(thread, NULL);
    return heard != 3;
}
