// A ring whose memory is mapped twice in a row: what is stored at one address is loaded by the other.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 4096 };
static char *ring;

static void *writer(void *unused) {
    *(int *)(ring + SIZE + 64) = 42;
    atomic_store_explicit((atomic_int *)(ring + 128), 1, memory_order_release);
    return unused;
}

int main(void) {
    pthread_t thread;
    int file = memfd_create("ring", 0);
    if (ftruncate(file, SIZE) != 0)
        abort();
    ring = mmap(NULL, 2 * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 2; i++)
        mmap(ring + i * SIZE, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
    pthread_create(&thread, NULL, writer, NULL);
    if (atomic_load_explicit((atomic_int *)(ring + SIZE + 128), memory_order_acquire) == 1 && *(int *)(ring + 64) != 42)
        abort();
    return pthread_join(thread, NULL);
}
