// Timers that are descriptors, in virtual time: read, waited for, and counted.
// Expect: clean
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static void must_(int so, int line) {
    char text[] = "line 0000\n";
    for (int i = 8; !so && i > 4; --i, line /= 10)
        text[i] = '0' + line % 10;
    if (!so && write(2, text, sizeof text - 1))
        abort();
}
#define must(so) must_(so, __LINE__)

static long long now(void) {
    struct timespec it;
    clock_gettime(CLOCK_MONOTONIC, &it);
    return it.tv_sec * 1000000000LL + it.tv_nsec;
}

static const long long SECOND = 1000000000LL;
static int timer;

static void sets(int fd, long first, long interval) {
    struct itimerspec it = {{interval, 0}, {first, 0}};
    must(timerfd_settime(fd, 0, &it, NULL) == 0);
}

static uint64_t reads(int fd) {
    uint64_t count = 0;
    errno = 0;
    must(read(fd, &count, sizeof count) == sizeof count || errno == EAGAIN);
    return count;
}

static void *sets_it(void *unused) {
    sets(timer, 2, 0);
    return unused;
}

int main(void) {
    pthread_t thread;
    struct epoll_event found = {.events = EPOLLIN | EPOLLET, .data.u32 = 3};
    struct itimerspec left;
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    int epoll = epoll_create1(0), other = dup(timer);

    // Another thread sets it while this one reads.
    long long begin = now();
    pthread_create(&thread, NULL, sets_it, NULL);
    must(reads(timer) == 1);
    must(now() - begin >= 2 * SECOND && now() - begin < 3 * SECOND);
    pthread_create(&thread, NULL, sets_it, NULL);
    pthread_join(thread, NULL);
    must(reads(other) == 1);

    // It has expired more than once when it is read, and goes on.
    sets(timer, 5, 2);
    struct timespec ten = {10, 0};
    nanosleep(&ten, NULL);
    must(timerfd_gettime(timer, &left) == 0 && left.it_interval.tv_sec == 2);
    must(left.it_value.tv_sec == 0 && left.it_value.tv_nsec > 900000000L);
    must(reads(timer) == 3);
    begin = now();
    for (int i = 0; i < 4; ++i)
        must(reads(timer) == 1);
    must(now() - begin > 6 * SECOND && now() - begin < 8 * SECOND);

    // In poll and epoll, with an edge each time.
    must(epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &found) == 0);
    struct pollfd asked = {.fd = timer, .events = POLLIN};
    begin = now();
    must(poll(&asked, 1, 500) == 0 && poll(&asked, 1, 60000) == 1 && poll(&asked, 1, 0) == 1);
    must(epoll_wait(epoll, &found, 1, -1) == 1 && found.data.u32 == 3);
    must(epoll_wait(epoll, &found, 1, 0) == 0);
    must(reads(timer) == 1 && poll(&asked, 1, 0) == 0);
    must(epoll_wait(epoll, &found, 1, -1) == 1);
    must(now() - begin > 2 * SECOND && now() - begin < 5 * SECOND);

    // It stops, also after it has expired.
    sets(timer, 0, 0);
    must(poll(&asked, 1, 0) == 0 && poll(&asked, 1, 100000) == 0);
    fcntl(timer, F_SETFL, O_NONBLOCK);
    must(reads(timer) == 0);

    // At a time of the real clock.
    struct timespec real;
    int clock = timerfd_create(CLOCK_REALTIME, 0);
    clock_gettime(CLOCK_REALTIME, &real);
    struct itimerspec then = {{0, 0}, {real.tv_sec + 100, real.tv_nsec}}, old;
    must(timerfd_settime(clock, TFD_TIMER_ABSTIME, &then, &old) == 0 && old.it_value.tv_sec == 0);
    must(timerfd_settime(clock, TFD_TIMER_ABSTIME, &then, &old) == 0 && old.it_value.tv_sec == 99);
    must(reads(clock) == 1);
    clock_gettime(CLOCK_REALTIME, &real);
    must(real.tv_sec - then.it_value.tv_sec <= 1);
    must(timerfd_settime(epoll, 0, &then, NULL) == -1 && errno == EINVAL);
    close(timer);
    must(timerfd_settime(timer, 0, &then, NULL) == -1 && errno == EBADF);
    return 0;
}
