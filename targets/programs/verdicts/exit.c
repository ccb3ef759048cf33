// Message passing; main returns 3 if the flag came before the data.
// Wrong: relaxed. Right: fences between the relaxed accesses, which compile to no instruction on x86-64.
// Expect: exit
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int data, flag;
static int r1, r2;

// Two variants of whole functions: clang leaves no trace of a C fence without code, so that a fence in the source of a
// function counts as one, also if the preprocessor has removed it.
#ifdef BUGGY
static void *writer(void *unused) {
    atomic_store_explicit(&data, 1, memory_order_relaxed);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    return unused;
}

static void *reader(void *unused) {
    r1 = atomic_load_explicit(&flag, memory_order_relaxed);
    r2 = atomic_load_explicit(&data, memory_order_relaxed);
    return unused;
}
#else
static void *writer(void *unused) {
    atomic_store_explicit(&data, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    return unused;
}

static void *reader(void *unused) {
    r1 = atomic_load_explicit(&flag, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    r2 = atomic_load_explicit(&data, memory_order_relaxed);
    return unused;
}
#endif

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, writer, NULL);
    pthread_create(&b, NULL, reader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return r1 == 1 && r2 == 0 ? 3 : 0;
}
