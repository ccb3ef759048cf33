// Memory that was freed, and becomes the program's again in less usual ways: as the rest of a smaller block, whose usable
// size the program asks for; by growing in place; from the kernel, at the same address.
// Expect: clean
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void keep(void *block, size_t size) {
    if (!block)
        abort();
    memset(block, 1, size);
    if (((volatile char *)block)[size - 1] != 1)
        abort();
}

static void *work(void *unused) {
    for (int i = 0; i < 4; i++) {
        char *block = malloc(64);
        keep(block, 64);
        free(block);
        // In the same place, mostly.
        block = malloc(50);
        keep(block, malloc_usable_size(block));
        block = realloc(block, 60);
        keep(block, 60);
        free(block);
        block = reallocarray(NULL, 4, 16);
        keep(block, 64);
        free(block);
        // Large ones are the kernel's.
        size_t large = 256 << 10;
        block = malloc(large);
        keep(block, 100);
        free(block);
        char *mapped = mmap(NULL, large, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED)
            abort();
        keep(mapped, 100);
        keep(mapped + large / 2, 100);
        munmap(mapped, large);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    work(NULL);
    pthread_join(thread, NULL);
    return 0;
}
