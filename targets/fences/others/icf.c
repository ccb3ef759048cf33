// Functions whose code is the same though their orders are not: the linker makes one of them.
// Wrong: the relaxed function publishes. That may go unnoticed.
// Unsettled: yes
// Values LD: gold | lld
// Flags: -ffunction-sections -fuse-ld=LD -Wl,--icf=all
// Levels: O0 O1 O2 O3 Os
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

__attribute__((noinline)) static void set_relaxed(atomic_int *what, int value) {
    atomic_store_explicit(what, value, memory_order_relaxed);
}

__attribute__((noinline)) static void set_release(atomic_int *what, int value) {
    atomic_store_explicit(what, value, memory_order_release);
}

__attribute__((noinline)) static int get_relaxed(atomic_int *what) {
    return atomic_load_explicit(what, memory_order_relaxed);
}

__attribute__((noinline)) static int get_acquire(atomic_int *what) {
    return atomic_load_explicit(what, memory_order_acquire);
}

static int data;
static atomic_int flag, count;

static void *writer(void *unused) {
    (void)unused;
    set_relaxed(&count, get_relaxed(&count) + 1);
    data = 1;
    set_release(&flag, 1); //= right
    set_relaxed(&flag, 1); //= wrong
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    set_relaxed(&count, get_relaxed(&count) + 1);
    set_release(&count, get_relaxed(&count) + 1);
    while (get_acquire(&flag) == 0) {
        sched_yield();
    }
    assert(data == 1);
    pthread_join(thread, NULL);
    return 0;
}
