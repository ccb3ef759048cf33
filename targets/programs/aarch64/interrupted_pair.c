// A signal comes between the two stores that one instruction makes: none is lost, and the instruction is not made twice.
// Expect: clean
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#define ROUNDS 8

static long pairs[ROUNDS][2];
static atomic_int sent;

static void on_signal(int signal) {
    (void)signal;
}

static void *stores(void *unused) {
    long *pair = pairs[0];
    for (long i = 1; i <= ROUNDS; i++)
        __asm__ volatile("stp %1, %2, [%0], #16" : "+r"(pair) : "r"(i), "r"(-i) : "memory");
    for (long i = 1; i <= ROUNDS; i++)
        if (pairs[i - 1][0] != i || pairs[i - 1][1] != -i)
            abort();
    if (pair != pairs[ROUNDS])
        abort();
    return unused;
}

int main(void) {
    pthread_t thread;
    signal(SIGUSR1, on_signal);
    pthread_create(&thread, NULL, stores, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_kill(thread, SIGUSR1);
        // Others may go on here.
        atomic_fetch_add_explicit(&sent, 1, memory_order_relaxed);
    }
    pthread_join(thread, NULL);
    return 0;
}
