// The signal of an interval timer comes, in real time, while a thread counts.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/time.h>

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
    struct itimerval soon = {{0, 0}, {0, 20000}};
    pthread_t thread;
    signal(SIGALRM, ring);
    pthread_create(&thread, NULL, count, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    pthread_join(thread, NULL);
    return 0;
}
