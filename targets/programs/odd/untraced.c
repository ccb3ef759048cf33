// Processes that ask not to be traced (CLONE_UNTRACED, as LeakSanitizer does), and outlive the program, are ended with it. By
// themselves they end after a second.
// Expect: clean
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static long untraced(void) {
    return syscall(SYS_clone, CLONE_UNTRACED | SIGCHLD, 0, 0, 0, 0);
}

static void *escapes(void *unused) {
    if (untraced() == 0) {
        untraced();
        alarm(1);
        for (;;)
            pause();
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, escapes, NULL);
    return pthread_join(thread, NULL);
}
