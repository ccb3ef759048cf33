// The last other thread is joined inside of pthread_once, as libstdc++'s std::async does it.
// Wrong: nobody waits for the thread that counts. Right: it is joined, once.
// Expect: race
#include <pthread.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_t thread;
static int counter;

static void *counts(void *unused) {
    counter++;
    return unused;
}

static void joins(void) {
#ifndef BUGGY
    pthread_join(thread, NULL);
#endif
}

int main(int argc, char **argv) {
    (void)argv;
    pthread_create(&thread, NULL, counts, NULL);
    int failed = pthread_once(&once, joins);
    // A few instructions, of which none is an operation.
    if (failed + argc * 3 - 1 == 0) abort();
    return counter != 1;
}
