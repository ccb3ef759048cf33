// A process that the program has made writes to a pipe, later, in real time: who waits for it does so as long as it takes, and a
// timeout of a minute is not over before.
// Expect: clean
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int ends[2];

static void *waits(void *unused) {
    struct pollfd asked = {.fd = ends[0], .events = POLLIN};
    char byte;
    if (poll(&asked, 1, 60000) != 1 || read(ends[0], &byte, 1) != 1)
        abort();
    return unused;
}

int main(void) {
    pthread_t thread;
    if (pipe(ends))
        return 1;
    pthread_create(&thread, NULL, waits, NULL);
    pid_t child = fork();
    if (child == 0) {
        usleep(50000);
        _exit(write(ends[1], "x", 1) != 1);
    }
    pthread_join(thread, NULL);
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
        return 2;
    return 0;
}
