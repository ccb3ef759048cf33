// The kernel hands an address on: from epoll_ctl to the thread that epoll_wait gives it back to.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>
static int ep, ends[2];
static void *wait_for(void *p) {
    struct epoll_event e;
    assert(epoll_wait(ep, &e, 1, -1) == 1);
    assert(*(int *)e.data.ptr == 7);
    return p;
}
int main(void) {
    ep = epoll_create1(0);
    assert(!pipe(ends) && write(ends[1], "x", 1) == 1);   /* readable already */
    pthread_t t;
    pthread_create(&t, 0, wait_for, 0);
    int *data = malloc(sizeof *data);
    *data = 7;
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = data};
    epoll_ctl(ep, EPOLL_CTL_ADD, ends[0], &e);
    pthread_join(t, 0);
}
