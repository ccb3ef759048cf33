// A mutex and a condition variable in memory from the heap, set up by functions of the C library, while there are threads.
// Wrong: the condition is read without the mutex. Right: with it.
// Expect: race
#include <pthread.h>
#include <stdlib.h>

struct door {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    int open, passed;
};

static void *passes(void *argument) {
    struct door *door = argument;
    pthread_mutex_lock(&door->lock);
    while (!door->open)
        pthread_cond_wait(&door->opened, &door->lock);
    door->passed += 1;
    pthread_mutex_unlock(&door->lock);
    return NULL;
}

static void *idles(void *unused) { return unused; }

int main(void) {
    pthread_t idle, threads[2];
    pthread_create(&idle, NULL, idles, NULL);
    struct door *door = malloc(sizeof *door);
    door->open = door->passed = 0;
    pthread_mutex_init(&door->lock, NULL);
    pthread_cond_init(&door->opened, NULL);
    for (int i = 0; i < 2; ++i)
        pthread_create(&threads[i], NULL, passes, door);
#ifdef BUGGY
    door->open = 1;
    pthread_mutex_lock(&door->lock);
#else
    pthread_mutex_lock(&door->lock);
    door->open = 1;
#endif
    pthread_cond_broadcast(&door->opened);
    pthread_mutex_unlock(&door->lock);
    for (int i = 0; i < 2; ++i)
        pthread_join(threads[i], NULL);
    pthread_join(idle, NULL);
    int passed = door->passed;
    free(door);
    return passed == 2 ? 0 : 1;
}
