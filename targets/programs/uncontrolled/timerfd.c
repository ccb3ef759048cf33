// A timer's descriptor is read again and again until it says, in real time, that the time is over.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

static int timer;
static atomic_int counter;

static void *wait_for_timer(void *unused) {
    uint64_t times = 0;
    while (read(timer, &times, sizeof times) != sizeof times)
        atomic_fetch_add(&counter, 1);
    return unused;
}

int main(void) {
    struct itimerspec soon = {{0, 0}, {0, 20000000}};
    pthread_t thread;
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    pthread_create(&thread, NULL, wait_for_timer, NULL);
    timerfd_settime(timer, 0, &soon, NULL);
    pthread_join(thread, NULL);
    return 0;
}
