// Forks before and after it has threads, waits for the children, and talks to one through a pipe.
// Expect: clean
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static void child_says(int status) {
    int ends[2], left = 0, got = 0;
    char byte = 0;
    assert(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        byte = 'x';
        left = write(ends[1], &byte, 1) != 1;
        _exit(left ? 99 : status);
    }
    close(ends[1]);
    assert(read(ends[0], &byte, 1) == 1 && byte == 'x');
    close(ends[0]);
    assert(waitpid(child, &got, 0) == child && WIFEXITED(got) && WEXITSTATUS(got) == status);
}

static void *work(void *unused) {
    child_says(2);
    return unused;
}

int main(void) {
    pthread_t thread;
    child_says(1);
    pthread_create(&thread, NULL, work, NULL);
    child_says(3);
    pthread_join(thread, NULL);
    return 0;
}
