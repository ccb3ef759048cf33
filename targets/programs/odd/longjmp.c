// longjmp within a thread, out of a callback of the C library, and out of a signal handler.
// Expect: clean
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int landed;
static _Thread_local jmp_buf place;
static _Thread_local sigjmp_buf out;

static int compare(const void *a, const void *b) {
    (void)a, (void)b;
    longjmp(place, 1);
}

static void on_segv(int signal) {
    siglongjmp(out, signal);
}

static void *work(void *unused) {
    int numbers[] = {3, 1, 2};
    if (setjmp(place) == 0)
        qsort(numbers, 3, sizeof *numbers, compare);
    else
        atomic_fetch_add(&landed, 1);
    if (sigsetjmp(out, 1) == 0)
        raise(SIGSEGV);
    else
        atomic_fetch_add(&landed, 1);
    return unused;
}

int main(void) {
    pthread_t a, b;
    signal(SIGSEGV, on_segv);
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(atomic_load(&landed) == 4);
    return 0;
}
