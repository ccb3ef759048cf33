// A child of one of several threads does its work and ends: when is not left to chance.
// Expect: clean
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int ended;

static void *other(void *unused) {
    for (int i = 0; i < 4; i++) {
        pthread_mutex_lock(&mutex);
        free(malloc(100));
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    pid_t child = fork();
    if (child == 0) {
        for (volatile int i = 0; i < 100000; i++) {
        }
        _exit(3);
    }
    int status;
    if (waitpid(child, &status, 0) == child) {
        pthread_mutex_lock(&mutex);
        ended = WEXITSTATUS(status);
        pthread_mutex_unlock(&mutex);
    }
    pthread_join(thread, NULL);
    return ended != 3;
}
