// Signals that nobody in the program times come before, behind and between its instructions: none of these is lost.
// Expect: clean
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 250, SIGNALS = 300 };
static atomic_int ticks, count;

static void on_signal(int signal) {
    (void)signal;
    ticks++;
}

static void *counts(void *unused) {
    for (int i = 0; i < ROUNDS; i++)
        count++;
    return unused;
}

int main(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    pthread_t one, two;
    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&one, NULL, counts, NULL);
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        for (int i = 0; i < SIGNALS && kill(parent, SIGUSR1) == 0; i++)
            usleep(100);
        _exit(0);
    }
    pthread_create(&two, NULL, counts, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    waitpid(child, NULL, 0);
    return count != 2 * ROUNDS;
}
