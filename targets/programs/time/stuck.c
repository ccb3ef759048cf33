// Threads wait for each other through the kernel. Wrong: nobody writes what they wait for. The argument says how they wait.
// Expect: deadlock
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

static int ends[2], other[2];
static char way;

static void waits(int fd) {
    struct pollfd asked = {.fd = fd, .events = POLLIN};
    struct epoll_event found = {.events = EPOLLIN};
    fd_set set;
    char byte;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    int epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &found);
    if (way == 'p' && poll(&asked, 1, -1) != 1)
        abort();
    if (way == 's' && select(fd + 1, &set, NULL, NULL, NULL) != 1)
        abort();
    if (way == 'e' && epoll_wait(epoll, &found, 1, -1) != 1)
        abort();
    if (read(fd, &byte, 1) != 1)
        abort();
}

static void *answers(void *unused) {
    waits(ends[0]);
    if (write(other[1], "x", 1) != 1)
        abort();
    return unused;
}

int main(int count, char **arguments) {
    pthread_t thread;
    way = count > 1 ? arguments[1][0] : 'p';
    if (pipe(ends) || pipe(other))
        return 1;
    pthread_create(&thread, NULL, answers, NULL);
#ifndef BUGGY
    if (write(ends[1], "x", 1) != 1)
        return 2;
#endif
    waits(other[0]);
    pthread_join(thread, NULL);
    return 0;
}
