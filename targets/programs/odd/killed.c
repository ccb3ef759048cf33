// A program that ends by a signal of its own, as `kill -9 $$` does.
// Wrong: it does. Right: it does not.
// Expect: crash
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static void *work(void *unused) {
#ifdef BUGGY
    kill(getpid(), SIGKILL);
#endif
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return 0;
}
