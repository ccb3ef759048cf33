// What a program does before it has threads is over when it makes the first one: once-only functions, waits that time out,
// sleeps, yields, signals, processes. Executions that begin there (as copies) are like those that begin at the beginning.
// Expect: clean
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static volatile sig_atomic_t handled;
static atomic_int count;

static void initialise(void) { atomic_fetch_add(&count, 1); }

static void on_usr1(int signal) { handled = signal; }

static void *work(void *unused) {
    pthread_once(&once, initialise);
    atomic_fetch_add(&count, 1);
    return unused;
}

int main(void) {
    sem_t never;
    struct timespec until, nap = {.tv_nsec = 1000};
    pthread_t threads[2];
    pthread_once(&once, initialise);
    sem_init(&never, 0, 0);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    if (sem_timedwait(&never, &until) != -1 || errno != ETIMEDOUT)
        return 1;
    nanosleep(&nap, NULL);
    sched_yield();
    signal(SIGUSR1, on_usr1);
    raise(SIGUSR1);
    for (int i = 0; i < 2; ++i)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; ++i)
        pthread_join(threads[i], NULL);
    return handled == SIGUSR1 && atomic_load(&count) == 3 ? 0 : 2;
}
