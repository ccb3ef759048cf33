// Writes to both of its outputs. Nothing is wrong.
// Expect: clean
#include <pthread.h>
#include <stdio.h>

static void *worker(void *unused) {
    fputs("a thread was here\n", stderr);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    pthread_join(thread, NULL);
    puts("all is well");
    return 0;
}
