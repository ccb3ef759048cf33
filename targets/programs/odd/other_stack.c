// Handlers on a stack of their own, a fault that is left by siglongjmp, blocked signals, and a large frame.
// Expect: clean
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

static _Thread_local sigjmp_buf back;
static volatile sig_atomic_t late;

static void fault(int signal) { siglongjmp(back, signal); }

static void count(int signal) { late += signal == SIGUSR1; }

static void *work(void *unused) {
    stack_t other = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigset_t all;
    sigaltstack(&other, NULL);
    char *guard = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sigsetjmp(back, 1) == 0) {
        *(volatile char *)guard = 1;
        abort();
    }
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    pthread_kill(pthread_self(), SIGUSR1);
    int before = late;
    char *large = alloca(1 << 20);
    memset(large, 1, 1 << 20);
    pthread_sigmask(SIG_UNBLOCK, &all, NULL);
    if (before != 0 || late != 1 || large[1000] != 1) abort();
    other.ss_flags = SS_DISABLE;
    sigaltstack(&other, NULL);
    return unused;
}

int main(void) {
    struct sigaction action = {.sa_handler = fault, .sa_flags = SA_ONSTACK};
    pthread_t thread;
    prctl(PR_SET_DUMPABLE, 0);
    sigaction(SIGSEGV, &action, NULL);
    action.sa_handler = count;
    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return prctl(PR_GET_DUMPABLE) != 0;
}
