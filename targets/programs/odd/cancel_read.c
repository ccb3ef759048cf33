// A thread is cancelled where it sleeps in the kernel, or on its way there; what it holds is given back, once. (The C
// library's handler looks where the thread was interrupted: only in a system call may it end it there.)
// Expect: clean
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static int channel[2];
static atomic_int cleaned, begun;

static void clean_up(void *unused) {
    (void)unused;
    atomic_fetch_add(&cleaned, 1);
}

static void *work(void *unused) {
    char byte;
    pthread_cleanup_push(clean_up, NULL);
    atomic_store(&begun, 1);
    read(channel[0], &byte, 1);
    pthread_cleanup_pop(0);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    void *result;
    if (pipe(channel) != 0)
        return 1;
    for (int i = 0; i < 2; ++i)
        pthread_create(&threads[i], NULL, work, NULL);
    while (!atomic_load(&begun)) {
    }
    for (int i = 0; i < 2; ++i) {
        pthread_cancel(threads[i]);
        if (pthread_join(threads[i], &result) != 0 || result != PTHREAD_CANCELED)
            return 2;
    }
    return atomic_load(&cleaned) == 2 ? 0 : 3;
}
