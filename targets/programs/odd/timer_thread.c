// A timer whose function runs in a thread: the C library names its own helper thread to the kernel, in memory.
// Expect: clean
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

static sem_t rung;

static void ring(union sigval value) {
    if (value.sival_int == 7)
        sem_post(&rung);
}

static void *waits(void *unused) {
    while (sem_wait(&rung))
        ;
    return unused;
}

int main(void) {
    struct sigevent event = {
        .sigev_notify = SIGEV_THREAD, .sigev_notify_function = ring, .sigev_value = {.sival_int = 7}};
    struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
    pthread_t thread;
    timer_t timer;
    if (sem_init(&rung, 0, 0) || pthread_create(&thread, NULL, waits, NULL))
        return 1;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &soon, NULL))
        return 2;
    pthread_join(thread, NULL);
    return 0;
}
