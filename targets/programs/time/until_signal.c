// Threads that wait for a descriptor until a handler writes to it. Nobody sends the signal, but somebody could.
// Expect: clean
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static int ends[2];

static void on_signal(int signal) {
    (void)signal;
    if (write(ends[1], "x", 1) != 1)
        abort();
}

static void *waits(void *unused) {
    struct pollfd asked = {.fd = ends[0], .events = POLLIN};
    while (poll(&asked, 1, -1) != 1) {
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    if (pipe(ends))
        return 1;
    signal(SIGTERM, on_signal);
    pthread_create(&thread, NULL, waits, NULL);
    waits(NULL);
    pthread_join(thread, NULL);
    return 0;
}
