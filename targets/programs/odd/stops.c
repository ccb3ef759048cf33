// Processes that are stopped by signals stay so until they are told to go on.
// Expect: clean
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *unused) { return unused; }

int main(void) {
    pthread_t thread;
    int status, wrong = 0;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    pid_t child = fork();
    if (child == 0) {
        raise(SIGSTOP);
        _exit(3);
    }
    wrong |= waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status) || WSTOPSIG(status) != SIGSTOP;
    wrong |= waitpid(child, &status, WNOHANG) != 0;
    kill(child, SIGCONT);
    wrong |= waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 3;
    return wrong;
}
