// A mutex and a condition variable in memory that two processes share.
// Expect: clean
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct shared {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int turn;
};

static struct shared *shared;

static void take_turns(int me) {
    for (int i = 0; i < 2; ++i) {
        pthread_mutex_lock(&shared->lock);
        while (shared->turn % 2 != me)
            pthread_cond_wait(&shared->changed, &shared->lock);
        shared->turn += 1;
        pthread_cond_signal(&shared->changed);
        pthread_mutex_unlock(&shared->lock);
    }
}

int main(void) {
    pthread_mutexattr_t mutex;
    pthread_condattr_t condition;
    int status;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->lock, &mutex);
    pthread_condattr_init(&condition);
    pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&shared->changed, &condition);
    if (fork() == 0) {
        take_turns(1);
        _exit(0);
    }
    take_turns(0);
    wait(&status);
    return status != 0 || shared->turn != 4;
}
