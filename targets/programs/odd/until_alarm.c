// Threads work until the alarm comes, as a benchmark does, and before there are any the program does so alone.
// Expect: clean
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/time.h>
#include <unistd.h>

static atomic_int stop;
static atomic_ulong done;

static void on_alarm(int signal) {
    (void)signal;
    atomic_store_explicit(&stop, 1, memory_order_relaxed);
}

static void *works(void *unused) {
    while (!atomic_load_explicit(&stop, memory_order_relaxed))
        atomic_fetch_add_explicit(&done, 1, memory_order_relaxed);
    return unused;
}

int main(void) {
    struct itimerval soon = {{0, 0}, {0, 2000}};
    pthread_t one, two;
    signal(SIGALRM, on_alarm);
    // Without a system call.
    setitimer(ITIMER_REAL, &soon, NULL);
    works(NULL);
    // With some.
    stop = 0;
    setitimer(ITIMER_REAL, &soon, NULL);
    while (!stop)
        getppid();
    stop = 0;
    pthread_create(&one, NULL, works, NULL);
    pthread_create(&two, NULL, works, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
