// What the threads did is checked when they are over: the report shows where.
// Wrong: the check fails. Right: it does not.
// Expect: assertion
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int count;

static void *counts(void *unused) {
#ifndef BUGGY
    count++;
#endif
    return unused;
}

__attribute__((noinline)) static void check(void) {
    assert(count == 1);
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, counts, NULL);
    pthread_join(thread, NULL);
    check();
    return 0;
}
