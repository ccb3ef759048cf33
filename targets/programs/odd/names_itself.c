// Processes and threads know each other by their numbers, whoever asks.
// Expect: clean
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t from, code;

static void handle(int signal, siginfo_t *info, void *unused) {
    (void)signal, (void)unused;
    from = info->si_pid;
    code = info->si_code;
}

static void check(int right) {
    if (!right) _exit(1);
}

static void *work(void *unused) {
    union sigval value = {7};
    check(gettid() != getpid() && tgkill(getpid(), gettid(), 0) == 0);
    check(kill(getpid(), SIGUSR1) == 0 && pthread_kill(pthread_self(), SIGUSR2) == 0);
    check(from == getpid() && code == SI_TKILL);
    check(sigqueue(getpid(), SIGUSR2, value) == 0);
    return unused;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct rlimit limit;
    pthread_t thread;
    int status = 0;
    sigaction(SIGUSR2, &action, NULL);
    signal(SIGUSR1, SIG_IGN);
    check(getpid() == gettid());
    check(prlimit(getpid(), RLIMIT_CORE, NULL, &limit) == 0 && sched_getscheduler(getpid()) == SCHED_OTHER);
    check(getpgid(getpid()) == getpgrp() && getsid(getpid()) == getsid(0));
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        check(getppid() == parent && getpid() != parent);
        check(kill(parent, SIGUSR2) == 0);
        pause();
    }
    while (from != child) sched_yield();
    check(kill(child, SIGTERM) == 0 && waitpid(child, &status, 0) == child);
    return !(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}
