// Becomes a daemon: forks, leaves its session, forks again, has a thread there, and reports to the first process.
// Expect: clean
#include <pthread.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static void *report(void *end) {
    return write(*(int *)end, "d", 1) == 1 ? NULL : end;
}

int main(void) {
    int ends[2];
    char byte = 0;
    if (pipe(ends) != 0)
        return 1;
    if (fork() == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        pthread_t thread;
        pthread_create(&thread, NULL, report, &ends[1]);
        pthread_join(thread, NULL);
        _exit(0);
    }
    close(ends[1]);
    int reported = read(ends[0], &byte, 1) == 1 && byte == 'd';
    wait(NULL);
    return !reported;
}
