// main returns while one thread is blocked, one spins and one sleeps: no deadlock, no livelock, status 3.
// Expect: clean
// Status: 3
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int never;

static void *blocked(void *unused) {
    pthread_mutex_lock(&lock);
    return unused;
}

static void *spinning(void *unused) {
    while (!atomic_load(&never)) {
    }
    return unused;
}

static void *sleeping(void *unused) {
    for (;;)
        sleep(1000);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_mutex_lock(&lock);
    pthread_create(&thread, NULL, blocked, NULL);
    pthread_create(&thread, NULL, spinning, NULL);
    pthread_create(&thread, NULL, sleeping, NULL);
    return 3;
}
