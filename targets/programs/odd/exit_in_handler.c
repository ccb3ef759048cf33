// A signal handler ends the process while another thread waits for ever.
// Expect: clean
// Status: 7
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static void on_term(int signal) {
    (void)signal;
    _exit(7);
}

static void *sleeper(void *unused) {
    for (;;)
        pause();
    return unused;
}

int main(void) {
    pthread_t thread;
    signal(SIGTERM, on_term);
    pthread_create(&thread, NULL, sleeper, NULL);
    kill(getpid(), SIGTERM);
    pthread_join(thread, NULL);
    return 1;
}
