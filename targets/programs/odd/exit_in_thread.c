// A thread calls exit, which runs the handlers of atexit, while main waits for it.
// Expect: clean
// Status: 5
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int status = 1;

static void at_exit(void) {
    _exit(status);
}

static void *work(void *unused) {
    status = 5;
    exit(2);
    return unused;
}

int main(void) {
    pthread_t thread;
    atexit(at_exit);
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return 1;
}
