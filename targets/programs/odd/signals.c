// Signals: a handler in the thread that is meant, one that blocks and waits, and a mask that a thread inherits.
// Expect: clean
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int handled;
static pthread_t handler_thread;
static sem_t ready, done;

static void on_usr1(int signal) {
    assert(signal == SIGUSR1 && pthread_equal(pthread_self(), handler_thread));
    atomic_fetch_add(&handled, 1);
    sem_post(&done);
}

static void *target(void *unused) {
    handler_thread = pthread_self();
    sem_post(&ready);
    while (atomic_load(&handled) < 2) {
    }
    return unused;
}

static void *waiter(void *unused) {
    sigset_t set;
    int got = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    assert(sigwait(&set, &got) == 0 && got == SIGUSR2);
    return unused;
}

int main(void) {
    struct sigaction action = {.sa_handler = on_usr1};
    sigset_t blocked;
    pthread_t a, b;
    sem_init(&ready, 0, 0);
    sem_init(&done, 0, 0);
    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    pthread_create(&a, NULL, target, NULL);
    pthread_create(&b, NULL, waiter, NULL);
    sem_wait(&ready);
    for (int i = 0; i < 2; ++i) {
        pthread_kill(a, SIGUSR1);
        while (sem_wait(&done) != 0) {
        }
    }
    pthread_kill(b, SIGUSR2);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(atomic_load(&handled) == 2);
    return 0;
}
