// Replaces itself, out of a thread, by itself with an argument; the new one has a thread again.
// Expect: clean
// Status: 9
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

static void *replace(void *name) {
    execl("/proc/self/exe", name, "again", (char *)NULL);
    _exit(1);
}

static void *answer(void *result) {
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
