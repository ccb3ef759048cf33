// Every call that waits for descriptors waits in virtual time, and ends when the time is over, when something comes, and when a
// signal does.
// Expect: clean
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int event, pair[2];

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
static long long begin;

static void begins(void) { begin = now(); }

static void took(long long seconds) {
    long long it = now() - begin;
    must(it >= seconds * SECOND && it < seconds * SECOND + SECOND / 2);
}

static void on_alarm(int signal) { (void)signal; }

static void *tells(void *unused) {
    uint64_t one = 1;
    for (int i = 0; i < 4; ++i) {
        struct timespec second = {1, 0};
        nanosleep(&second, NULL);
        must(i == 3 ? send(pair[1], "x", 1, 0) == 1 : write(event, &one, sizeof one) == sizeof one);
    }
    return unused;
}

int main(void) {
    pthread_t teller;
    uint64_t sum;
    char byte;
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    event = eventfd(0, 0);
    int epoll = epoll_create1(0);
    struct epoll_event found = {.events = EPOLLIN, .data.u32 = 5};
    must(epoll_ctl(epoll, EPOLL_CTL_ADD, event, &found) == 0);

    // In vain: alone, and beside another thread.
    for (int round = 0; round < 2; ++round) {
        struct timeval three = {3, 0};
        struct timespec four = {4, 0};
        struct pollfd asked = {.fd = event, .events = POLLIN};
        fd_set set;
        FD_ZERO(&set);
        FD_SET(event, &set);
        begins();
        must(select(event + 1, &set, NULL, NULL, &three) == 0 && !FD_ISSET(event, &set));
        must(three.tv_sec == 0 && three.tv_usec == 0);
        took(3);
        begins();
        FD_SET(event, &set);
        must(pselect(event + 1, &set, NULL, NULL, &four, NULL) == 0 && !FD_ISSET(event, &set));
        took(4);
        begins();
        must(ppoll(&asked, 1, &four, NULL) == 0 && four.tv_sec == 4);
        took(4);
        begins();
        must(epoll_wait(epoll, &found, 1, 5000) == 0);
        took(5);
        begins();
        struct timeval patience = {6, 0}, none = {0, 0};
        setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        must(recv(pair[0], &byte, 1, 0) == -1 && errno == EAGAIN);
        took(6);
        setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
        begins();
        must(poll(NULL, 0, 7000) == 0);
        took(7);
        if (round == 0)
            pthread_create(&teller, NULL, tells, NULL);
        if (round == 0) {
            // Something comes.
            begins();
            struct timeval ten = {10, 0};
            FD_SET(event, &set);
            must(select(event + 1, &set, NULL, NULL, &ten) == 1 && FD_ISSET(event, &set));
            must(ten.tv_sec == 8 || (ten.tv_sec == 9 && ten.tv_usec == 0));
            took(1);
            must(read(event, &sum, sizeof sum) == sizeof sum && sum == 1);
            must(epoll_wait(epoll, &found, 1, 10000) == 1 && found.data.u32 == 5);
            took(2);
            must(read(event, &sum, sizeof sum) == sizeof sum && sum == 1);
            must(read(event, &sum, sizeof sum) == sizeof sum && sum == 1);
            took(3);
            must(recv(pair[0], &byte, 1, 0) == 1);
            took(4);
            pthread_join(teller, NULL);
        }
    }

    // A signal comes, or one that only the call lets in.
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    struct itimerval soon = {{0, 0}, {2, 0}};
    struct pollfd asked = {.fd = event, .events = POLLIN};
    begins();
    setitimer(ITIMER_REAL, &soon, NULL);
    must(poll(&asked, 1, 30000) == -1 && errno == EINTR);
    took(2);
    sigset_t alarm, empty;
    sigemptyset(&empty);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarm, NULL);
    struct timespec minute = {60, 0};
    begins();
    setitimer(ITIMER_REAL, &soon, NULL);
    must(poll(&asked, 1, 4000) == 0);
    took(4);
    must(ppoll(&asked, 1, &minute, &empty) == -1 && errno == EINTR);
    took(4);
    setitimer(ITIMER_REAL, &soon, NULL);
    must(epoll_pwait(epoll, &found, 1, -1, &empty) == -1 && errno == EINTR);
    took(6);
    return 0;
}
