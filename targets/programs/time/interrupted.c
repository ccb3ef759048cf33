// Who reads, and is interrupted by a handler, goes on to read or does not, as the handler was installed.
// Expect: clean
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/time.h>
#include <unistd.h>

static int ends[2], writes_too;

static void on_alarm(int signal) {
    (void)signal;
    if (writes_too && write(ends[1], "x", 1) != 1)
        abort();
}

static void handle(int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    action.sa_flags = flags;
    sigaction(SIGALRM, &action, NULL);
}

static void *other(void *unused) { return unused; }

int main(void) {
    pthread_t thread;
    struct itimerval soon = {{0, 0}, {3, 0}};
    struct timeval ten = {10, 0};
    fd_set set;
    char byte;
    if (pipe(ends) || pthread_create(&thread, NULL, other, NULL))
        return 1;
    handle(0);
    setitimer(ITIMER_REAL, &soon, NULL);
    if (read(ends[0], &byte, 1) != -1 || errno != EINTR)
        return 2;
    handle(SA_RESTART);
    writes_too = 1;
    setitimer(ITIMER_REAL, &soon, NULL);
    if (read(ends[0], &byte, 1) != 1)
        return 3;
    setitimer(ITIMER_REAL, &soon, NULL);
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    if (select(ends[0] + 1, &set, NULL, NULL, &ten) != -1 || errno != EINTR)
        return 4;
    pthread_join(thread, NULL);
    return 0;
}
