// vfork with exec, and posix_spawn, while another thread runs.
// Expect: clean
#include <assert.h>
#include <pthread.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *unused) {
    char *arguments[] = {"sh", "-c", "exit 5", NULL}, *none[] = {NULL};
    pid_t child;
    int status;
    assert(posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, none) == 0);
    assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
    return unused;
}

int main(void) {
    pthread_t thread;
    int status;
    pthread_create(&thread, NULL, work, NULL);
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(99);
    }
    assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    pthread_join(thread, NULL);
    return 0;
}
