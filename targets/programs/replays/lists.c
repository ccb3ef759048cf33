// Lists its directory before it makes its threads: how many stores its first thread makes depends on what is there.
// Expect: race
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int seen;
static int plain;

static void *first(void *argument) {
    for (int i = 0; i < *(int *)argument; i++)
        atomic_fetch_add_explicit(&seen, 1, memory_order_relaxed);
    plain++;
    return NULL;
}

static void *second(void *argument) {
    plain++;
    return argument;
}

int main(void) {
    int count = 0;
    DIR *here = opendir(".");
    while (here != NULL && readdir(here) != NULL)
        count++;
    closedir(here);
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, first, &count);
    pthread_create(&threads[1], NULL, second, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", plain);
    return 0;
}
