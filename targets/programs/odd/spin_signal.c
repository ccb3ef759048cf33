// A thread that spins is set free by a signal: nobody else stores what it waits for.
// Expect: clean
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int here, handled;

static void on_usr1(int signal) {
    (void)signal;
    atomic_store(&handled, 1);
}

static void *spins(void *unused) {
    atomic_store(&here, 1);
    while (!atomic_load(&handled)) {
    }
    return unused;
}

int main(void) {
    struct sigaction action = {.sa_handler = on_usr1};
    pthread_t thread;
    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&thread, NULL, spins, NULL);
    while (!atomic_load(&here)) {
    }
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
    return 0;
}
