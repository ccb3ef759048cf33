// Several statements on a line.
// Wrong: the flag is relaxed.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

static int data;
static atomic_int flag, count;

static void *writer(void *unused) {
    (void)unused; atomic_fetch_add_explicit(&count, 1, memory_order_relaxed); data = 1; atomic_store_explicit(&flag, 1, memory_order_release); //= right
    (void)unused; atomic_fetch_add_explicit(&count, 1, memory_order_relaxed); data = 1; atomic_store_explicit(&flag, 1, memory_order_relaxed); //= wrong
    return NULL;
}

int main(void) {
    pthread_t thread; pthread_create(&thread, NULL, writer, NULL); atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    while (atomic_load_explicit(&flag, memory_order_acquire) == 0) { sched_yield(); } assert(data == 1); pthread_join(thread, NULL);
    return 0;
}
