// A thread loops without touching memory.
// Wrong: for ever. Right: a while.
// Options: --timeout 2 --limits bug
// Expect: timeout|livelock
#include <pthread.h>
#include <stddef.h>

static void *work(void *unused) {
#ifdef BUGGY
    for (;;)
#else
    for (int i = 0; i < 100; ++i)
#endif
        __asm__ volatile("");
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return 0;
}
