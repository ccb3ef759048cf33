// A function publishes what lies on its stack, and returns. The next call of its caller pushes something there: the stub of a
// function that the dynamic linker has not found yet does. Wrong: another thread still looks at it.
// Expect: race|use_after_return
// Flags: -Wl,-z,lazy -fcf-protection=none -fno-stack-protector
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { COUNT = 8 };
static _Atomic(long *) published;
__attribute__((unused)) static long fixed[COUNT];

__attribute__((noinline)) static void publish(void) {
    long local[COUNT];
    long *shown = local;
#ifndef BUGGY
    shown = fixed;
#endif
    for (int i = 0; i < COUNT; i++) shown[i] = 7;
    atomic_store_explicit(&published, shown, memory_order_release);
}

static void *worker(void *unused) {
    long *seen, sum = 0;
    while (!(seen = atomic_load_explicit(&published, memory_order_acquire))) {}
    for (int i = COUNT; i-- > 0;) sum += seen[i];
    return sum == 0 ? unused : NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    publish();
    char *word = getenv("WMTRACE_NO_SUCH_VARIABLE");
    pthread_join(thread, NULL);
    return word != NULL;
}
