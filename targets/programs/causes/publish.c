// Blocks are filled in by one thread and read by another; what announces them is one pointer.
// Wrong: the pointer is relaxed, and every member that is read races. That is one mistake. Right: release and acquire.
// Expect: race
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct block {
    int first, second, third;
};

static struct block *_Atomic ready;
static struct {
    int size;
    int colour;
} about;

static void fill(struct block *block) {
    block->first = 1;
    block->second = 2;
}

static void describe(struct block *block) {
    block->third = 3;
    about.size = 3;
    about.colour = 7;
}

static void *writer(void *unused) {
    struct block *block = malloc(sizeof *block);
    fill(block);
    describe(block);
#ifdef BUGGY
    atomic_store_explicit(&ready, block, memory_order_relaxed);
#else
    atomic_store_explicit(&ready, block, memory_order_release);
#endif
    return unused;
}

static int sum(struct block *block) {
    return block->first + block->second + block->third;
}

static int look(void) {
    return about.size + about.colour;
}

static void *reader(void *unused) {
#ifdef BUGGY
    struct block *block = atomic_load_explicit(&ready, memory_order_relaxed);
#else
    struct block *block = atomic_load_explicit(&ready, memory_order_acquire);
#endif
    if (block && sum(block) + look() > 100)
        abort();
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, writer, NULL);
    pthread_create(&b, NULL, reader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
