// Atomic operations in the body of a macro.
// Wrong: a weaker order there.
// Unsettled: yes
// Values G: -g | -g3
// Flags: G
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#define COUNT(what) atomic_fetch_add_explicit(&(what), 1, memory_order_relaxed)
#define LOAD(what) atomic_load_explicit(&(what), memory_order_acquire)
#define STORE(what, value) atomic_store_explicit(&(what), (value), memory_order_release) //= right
#define STORE(what, value) atomic_store_explicit(&(what), (value), memory_order_relaxed) //= wrong
#define PUBLISH(what, value) do { COUNT(count); STORE(what, value); COUNT(count); } while (0)

static int data;
static atomic_int flag, count;

static void *writer(void *unused) {
    (void)unused;
    data = 1;
    PUBLISH(flag, 1);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    while (LOAD(flag) == 0) {
        sched_yield();
    }
    assert(data == 1);
    COUNT(count);
    pthread_join(thread, NULL);
    return 0;
}
