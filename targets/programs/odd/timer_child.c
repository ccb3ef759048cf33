// Timers ring while a process of the program's is there, and a thread waits for it: not too early, and not never.
// Expect: clean
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static sem_t rung;
static int ends[2];

static void on_alarm(int signal) {
    (void)signal;
    sem_post(&rung);
}

static void *hears(void *unused) {
    char byte;
    sigset_t set;
    sigfillset(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return read(ends[0], &byte, 1) == 0 ? unused : &ends;
}

int main(void) {
    pthread_t thread;
    struct itimerval soon = {{0, 0}, {0, 30000}}, off = {{0, 0}, {0, 0}}, late = {{0, 0}, {20, 0}};
    int go[2];
    char byte;
    void *result;
    sem_init(&rung, 0, 0);
    if (pipe(ends) || pipe(go) || signal(SIGALRM, on_alarm) == SIG_ERR)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        close(go[1]);
        _exit(read(go[0], &byte, 1) != 1);
    }
    close(ends[1]);
    if (pthread_create(&thread, NULL, hears, NULL))
        return 2;
    // All sleep but for who waits for the process.
    setitimer(ITIMER_REAL, &soon, NULL);
    while (sem_wait(&rung))
        if (errno != EINTR)
            return 3;
    setitimer(ITIMER_REAL, &soon, NULL);
    if (nanosleep(&(struct timespec){10, 0}, NULL) != -1 || errno != EINTR)
        return 4;
    sem_wait(&rung);
    // One that would end all of this does not ring before the process has ended.
    signal(SIGALRM, SIG_DFL);
    setitimer(ITIMER_REAL, &late, NULL);
    if (write(go[1], "x", 1) != 1)
        return 5;
    pthread_join(thread, &result);
    int status;
    if (result || waitpid(child, &status, 0) != child || status)
        return 6;
    setitimer(ITIMER_REAL, &off, NULL);
    return 0;
}
