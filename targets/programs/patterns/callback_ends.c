// Callbacks of the C library that end with a call that synchronises, which compilers make a jump: the function returns to
// the C library, but it is the program that calls it.
// Wrong: the destructor of thread-specific data does not lock. Right: it does.
// Expect: race
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>

static pthread_key_t key;
static sem_t ready;
static int ended, data;

#ifdef BUGGY
static void locks(void) {
}
static void unlocks(void) {
}
#else
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void locks(void) {
    pthread_mutex_lock(&mutex);
}
static void unlocks(void) {
    pthread_mutex_unlock(&mutex);
}
#endif

static void ends(void *unused) {
    (void)unused;
    locks();
    ended++;
    unlocks();
}

static void handles(int signal) {
    (void)signal;
    data = 5;
    sem_post(&ready);
}

static void *works(void *raises) {
    pthread_setspecific(key, &key);
    if (raises != NULL) raise(SIGUSR1);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    sem_init(&ready, 0, 0);
    pthread_key_create(&key, ends);
    signal(SIGUSR1, handles);
    pthread_create(&a, NULL, works, NULL);
    pthread_create(&b, NULL, works, &key);
    while (sem_wait(&ready) != 0) {
    }
    if (data != 5) abort();
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return ended != 2;
}
