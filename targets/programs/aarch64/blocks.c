// System calls that block until another thread does something: pipes, an event descriptor, poll, a socket pair. Who
// comes first is the scheduler's choice, and the same for the same seed.
// Expect: clean
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

static int there[2], back[2], pair[2], event;

static void *answers(void *unused) {
    char byte;
    uint64_t sum;
    struct pollfd ready = {.fd = pair[1], .events = POLLIN};
    for (int i = 0; i < 3; i++)
        if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1)
            return &event;
    if (poll(&ready, 1, -1) != 1 || read(pair[1], &byte, 1) != 1 || byte != 'x')
        return &event;
    if (read(event, &sum, sizeof sum) != sizeof sum || sum < 1)
        return &event;
    return unused;
}

static void *adds(void *unused) {
    uint64_t one = 1;
    return write(event, &one, sizeof one) == sizeof one ? unused : &event;
}

int main(void) {
    pthread_t answering, adding;
    void *failed[2];
    char byte;
    event = eventfd(0, 0);
    if (pipe(there) || pipe(back) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        return 1;
    pthread_create(&answering, NULL, answers, NULL);
    pthread_create(&adding, NULL, adds, NULL);
    for (char i = 'a'; i < 'd'; i++)
        if (write(there[1], &i, 1) != 1 || read(back[0], &byte, 1) != 1 || byte != i)
            return 1;
    if (write(pair[0], "x", 1) != 1)
        return 1;
    pthread_join(answering, &failed[0]);
    pthread_join(adding, &failed[1]);
    return failed[0] != NULL || failed[1] != NULL;
}
