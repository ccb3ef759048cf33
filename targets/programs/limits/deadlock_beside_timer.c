// Two threads lock two mutexes, and a timer's handler interrupts whoever waits.
// Wrong: in opposite orders. The handler changes nothing, so that a deadlock stays one. Right: in the same order; and a
// third thread waits until the handler has counted to 20, which is none.
// Expect: deadlock
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

#ifdef BUGGY
static volatile sig_atomic_t rung;

static void tick(int signal) {
    (void)signal;
    rung = 1;
}
#else
static sem_t enough;
static volatile sig_atomic_t ticks;

static void tick(int signal) {
    (void)signal;
    if (++ticks == 20)
        sem_post(&enough);
}
#endif

static void *first(void *unused) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return unused;
}

static void *second(void *unused) {
#ifdef BUGGY
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return unused;
#else
    while (sem_wait(&enough)) {
    }
    return first(unused);
#endif
}

int main(void) {
    struct sigaction action = {.sa_handler = tick};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval every = {{0, 10000}, {0, 10000}};
    setitimer(ITIMER_REAL, &every, NULL);
#ifndef BUGGY
    sem_init(&enough, 0, 0);
#endif
    pthread_t one, two;
    pthread_create(&one, NULL, first, NULL);
    pthread_create(&two, NULL, second, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
