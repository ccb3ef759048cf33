// A thread scans a pipe, ten seconds of patience in ten calls, before another one writes to it: the first calls time out, the
// last one does not, and the clock has shown that. Wrong: the writer may come first, and who scans believes that it never does.
// Expect: abort
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int ends[2], to_writer[2];
static atomic_int scans;

static long long now(void) {
    struct timespec it;
    clock_gettime(CLOCK_MONOTONIC, &it);
    return it.tv_sec * 1000000000LL + it.tv_nsec;
}

static void must(int so) {
    if (!so)
        abort();
}

static void *writes(void *unused) {
    char byte;
    // Nobody writes there: it is closed.
    struct pollfd go = {.fd = to_writer[0], .events = POLLIN};
#ifndef BUGGY
    must(poll(&go, 1, -1) == 1 && (go.revents & POLLHUP) && read(to_writer[0], &byte, 1) == 0);
#else
    (void)byte, (void)go;
#endif
    must(write(ends[1], "x", 1) == 1);
    return unused;
}

int main(void) {
    pthread_t writer;
    char byte;
    must(pipe(ends) == 0 && pipe(to_writer) == 0);
    pthread_create(&writer, NULL, writes, NULL);
    struct pollfd scan = {.fd = ends[0], .events = POLLIN, .revents = 77};
    long long begin = now();
    for (int i = 0; i < 10; ++i) {
        must(poll(&scan, 1, 1000) == 0 && scan.revents == 0);
        atomic_fetch_add(&scans, 1);
    }
    long long took = now() - begin;
    must(took >= 10000000000LL && took < 10100000000LL);
    close(to_writer[1]);
    begin = now();
    must(poll(&scan, 1, 1000) == 1 && scan.revents == POLLIN && read(ends[0], &byte, 1) == 1);
    must(now() - begin < 1000000000LL);
    pthread_join(writer, NULL);
    return 0;
}
