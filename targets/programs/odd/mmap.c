// Threads share a mapping, which is then unmapped, and another takes its place and is empty again.
// Wrong: one thread reads it when it may be gone. Right: it is unmapped after the join.
// Expect: crash|use_after_free
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

static atomic_int *shared;

static void *map(void *at) {
    return mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
}

static void *work(void *unused) {
    atomic_fetch_add_explicit(shared, 1, memory_order_relaxed);
    return unused;
}

int main(void) {
    pthread_t thread;
    shared = map(NULL);
    if (shared == MAP_FAILED)
        return 1;
    pthread_create(&thread, NULL, work, NULL);
#ifdef BUGGY
    munmap(shared, 4096);
    pthread_join(thread, NULL);
    return 0;
#else
    pthread_join(thread, NULL);
    int before = atomic_load(shared);
    munmap(shared, 4096);
    if (map(shared) != shared || mprotect(shared, 4096, PROT_READ) != 0)
        return 1;
    return before != 1 || atomic_load(shared) != 0;
#endif
}
