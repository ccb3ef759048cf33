// Threads that tell each other something through the kernel: a pipe, an event descriptor, a socket, a stream, the end of a
// pipe, a signal that is waited for. What was written before is there afterwards, plain or relaxed.
// Expect: clean
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIPE, EVENT, POLL, EPOLL, SOCKET, STREAM, END, SIGNAL, WAYS };

static int data[WAYS], ends[2], stream[2], pair[2], event;
static atomic_int relaxed[WAYS];
static FILE *in, *out;
static pthread_t listener;

static void must(int so) {
    if (!so)
        abort();
}

static void tell(int way) {
    uint64_t one = 1;
    data[way] = 1;
    atomic_store_explicit(&relaxed[way], 1, memory_order_relaxed);
    if (way == PIPE || way == POLL)
        must(write(ends[1], "x", 1) == 1);
    if (way == EVENT || way == EPOLL)
        must(write(event, &one, sizeof one) == sizeof one);
    if (way == SOCKET)
        must(send(pair[0], "x", 1, 0) == 1);
    if (way == STREAM)
        must(fputs("x\n", out) >= 0 && fflush(out) == 0);
    if (way == END)
        must(close(ends[1]) == 0);
    if (way == SIGNAL)
        must(pthread_kill(listener, SIGUSR1) == 0);
}

static void hear(int way) {
    uint64_t sum;
    char text[4];
    sigset_t set;
    int got;
    struct pollfd ready = {.fd = ends[0], .events = POLLIN};
    struct epoll_event found = {.events = EPOLLIN};
    if (way == POLL)
        must(poll(&ready, 1, -1) == 1);
    if (way == PIPE || way == END)
        must(read(ends[0], text, 1) == (way == PIPE));
    if (way == EVENT)
        must(read(event, &sum, sizeof sum) == sizeof sum);
    if (way == EPOLL) {
        got = epoll_create1(0);
        must(epoll_ctl(got, EPOLL_CTL_ADD, event, &found) == 0 && epoll_wait(got, &found, 1, -1) == 1);
    }
    if (way == SOCKET)
        must(recv(pair[1], text, 1, 0) == 1);
    if (way == STREAM)
        must(fgets(text, sizeof text, in) != NULL);
    if (way == SIGNAL) {
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        must(sigwait(&set, &got) == 0);
    }
    must(data[way] == 1 && atomic_load_explicit(&relaxed[way], memory_order_relaxed) == 1);
    if (way == POLL)
        must(read(ends[0], text, 1) == 1);
}

static void *tells(void *unused) {
    for (int way = 0; way < WAYS; ++way)
        tell(way);
    return unused;
}

static void *hears(void *unused) {
    for (int way = 0; way < WAYS; ++way)
        hear(way);
    return unused;
}

int main(void) {
    pthread_t teller;
    sigset_t set;
    must(pipe(ends) == 0 && pipe(stream) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    event = eventfd(0, EFD_SEMAPHORE);
    in = fdopen(stream[0], "r");
    out = fdopen(stream[1], "w");
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&listener, NULL, hears, NULL);
    pthread_create(&teller, NULL, tells, NULL);
    pthread_join(teller, NULL);
    pthread_join(listener, NULL);
    return 0;
}
