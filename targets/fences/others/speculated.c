// A plain load that compilers may make before they know whether the source makes it.
// Wrong: the flag is relaxed. Where the load may be speculated, its race is only possible.
// Unsettled: yes
// Values READ: ready ? data : 42 | !(ready && data != 42) ? 42 : 0 | pick(ready) | many(ready, 3)
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static int data;
static atomic_int flag;

__attribute__((noinline)) int pick(int ready) {
    int value = 42;
    if (ready) {
        value = data;
    }
    return value;
}

__attribute__((noinline)) int many(int ready, int times) {
    int sum = 0;
    for (int i = 0; i < times; i++) {
        if (ready) {
            sum += data;
        } else {
            sum += 42;
        }
    }
    return sum / times;
}

static void *writer(void *unused) {
    (void)unused;
    data = 42;
    atomic_store_explicit(&flag, 1, memory_order_release); //= right
    atomic_store_explicit(&flag, 1, memory_order_relaxed); //= wrong
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    int ready = atomic_load_explicit(&flag, memory_order_acquire);
    int value = READ;
    assert(value == 42);
    pthread_join(thread, NULL);
    return 0;
}
