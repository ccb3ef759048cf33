// main ends by pthread_exit; the process goes on until its last thread has ended.
// Expect: clean
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_t main_thread;
static atomic_int worked;

static void at_exit(void) {
    if (atomic_load(&worked) != 1)
        _exit(1);
}

static void *work(void *unused) {
    pthread_join(main_thread, NULL);
    atomic_fetch_add(&worked, 1);
    return unused;
}

int main(void) {
    pthread_t thread;
    main_thread = pthread_self();
    atexit(at_exit);
    pthread_create(&thread, NULL, work, NULL);
    pthread_exit(NULL);
}
