// A reader follows a pointer as soon as a flag says that it is set.
// Wrong: flag and pointer are relaxed, so the reader may still see the null pointer. Right: release and acquire.
// Expect: crash
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static const int value = 42;
static const int *_Atomic pointer;
static atomic_int flag;

static void *writer(void *unused) {
    atomic_store_explicit(&pointer, &value, memory_order_relaxed);
#ifdef BUGGY
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
#else
    atomic_store_explicit(&flag, 1, memory_order_release);
#endif
    return unused;
}

static void *reader(void *unused) {
#ifdef BUGGY
    int set = atomic_load_explicit(&flag, memory_order_relaxed);
#else
    int set = atomic_load_explicit(&flag, memory_order_acquire);
#endif
    if (set) {
        const volatile int *target = atomic_load_explicit(&pointer, memory_order_relaxed);
        if (*target != 42)
            return &flag;
    }
    return unused;
}

int main(void) {
    pthread_t a, b;
    void *wrong;
    pthread_create(&a, NULL, writer, NULL);
    pthread_create(&b, NULL, reader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, &wrong);
    return wrong != NULL;
}
