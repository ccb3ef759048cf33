// Makes a process that no tracer is to follow (CLONE_UNTRACED), as LeakSanitizer does, and leaves it alone.
// Expect: clean
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int value;

static void *store(void *argument) {
    atomic_store_explicit(&value, 1, memory_order_relaxed);
    return argument;
}

int main(void) {
    if (syscall(SYS_clone, CLONE_UNTRACED | SIGCHLD, 0, 0, 0, 0) == 0)
        for (;;)
            pause();
    pthread_t thread;
    pthread_create(&thread, NULL, store, NULL);
    pthread_join(thread, NULL);
    return value - 1;
}
