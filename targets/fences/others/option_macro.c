// A fence behind a name that only an option of the compiler's defines.
// Wrong: the option defines nothing.
// Values G: -g | -g3
// Values USE: BARRIER() | ANOTHER
// Flags: G
// Flags of right: -DBARRIER()=atomic_thread_fence(memory_order_acquire) -DANOTHER=atomic_thread_fence(memory_order_acquire)
// Flags of wrong: -DBARRIER()=(void)0 -DANOTHER=(void)0
// Unsettled: yes
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

static int data;
static atomic_int flag;

static void *writer(void *unused) {
    (void)unused;
    data = 1;
    atomic_store_explicit(&flag, 1, memory_order_release);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    while (atomic_load_explicit(&flag, memory_order_relaxed) == 0) {
        sched_yield();
    }
    USE;
    assert(data == 1);
    pthread_join(thread, NULL);
    return 0;
}
