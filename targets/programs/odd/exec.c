// Replaces itself, out of a thread, by itself with an argument; the new one has a thread again. What that stores (the time, and
// the kernel's random bytes) is the same in each execution.
// Expect: clean
// Status: 9
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

static atomic_ulong world;

static void *replace(void *name) {
    execl("/proc/self/exe", name, "again", (char *)NULL);
    _exit(1);
}

static void *answer(void *result) {
    unsigned long random;
    struct timespec now;
    memcpy(&random, (const void *)getauxval(AT_RANDOM), sizeof random);
    clock_gettime(CLOCK_MONOTONIC, &now);
    atomic_store(&world, random);
    atomic_store(&world, (unsigned long)now.tv_nsec);
    *(int *)result = 9;
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread;
    int result = 0;
    if (argc > 1) {
        pthread_create(&thread, NULL, answer, &result);
        pthread_join(thread, NULL);
        return result;
    }
    pthread_create(&thread, NULL, replace, argv[0]);
    pthread_join(thread, NULL);
    return 1;
}
