// The signal of a timer comes while the program counts alone, which nobody watches: its only other thread is over. Then
// another one shows the number.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/time.h>

static atomic_int rang;
static atomic_ulong counter;

static void ring(int signal) {
    (void)signal;
    atomic_store(&rang, 1);
}

static void *show(void *unused) {
    atomic_fetch_add(&counter, 1);
    return unused;
}

int main(void) {
    struct itimerval soon = {{0, 0}, {0, 20000}};
    pthread_t thread;
    signal(SIGALRM, ring);
    pthread_create(&thread, NULL, show, NULL);
    pthread_join(thread, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    while (!atomic_load(&rang))
        atomic_fetch_add(&counter, 1);
    pthread_create(&thread, NULL, show, NULL);
    pthread_join(thread, NULL);
    return 0;
}
