// What is read from a file is not the same each time.
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static atomic_uint number;

static void *draw(void *unused) {
    unsigned drawn = 0;
    int file = open("/dev/urandom", O_RDONLY);
    if (read(file, &drawn, sizeof drawn) == sizeof drawn)
        atomic_store(&number, drawn);
    close(file);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, draw, NULL);
    pthread_join(thread, NULL);
    return 0;
}
