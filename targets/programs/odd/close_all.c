// Closes every descriptor, then has threads, then takes the lowest descriptor for itself.
// Expect: clean
// Status: 4
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static atomic_int done;

static void *work(void *unused) {
    atomic_fetch_add(&done, 1);
    return unused;
}

int main(void) {
    pthread_t a, b;
    for (int descriptor = 0; descriptor < 1024; ++descriptor)
        close(descriptor);
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return open("/dev/null", O_RDONLY) == 0 && atomic_load(&done) == 2 ? 4 : 1;
}
