// Copies a file through a queue of one block between two threads: `tee FROM TO`. Without arguments it copies itself
// to nowhere.
// Expect: clean
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static char block[256];
static size_t length;
static int full;

static void *read_blocks(void *file) {
    for (size_t got = 1; got > 0;) {
        pthread_mutex_lock(&lock);
        while (full)
            pthread_cond_wait(&changed, &lock);
        got = length = fread(block, 1, sizeof block, file);
        full = 1;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int argc, char **argv) {
    FILE *from = fopen(argc > 2 ? argv[1] : "/proc/self/cmdline", "r");
    FILE *to = fopen(argc > 2 ? argv[2] : "/dev/null", "w");
    pthread_t reader;
    if (!from || !to)
        return 1;
    pthread_create(&reader, NULL, read_blocks, from);
    for (int more = 1; more;) {
        pthread_mutex_lock(&lock);
        while (!full)
            pthread_cond_wait(&changed, &lock);
        more = length > 0;
        if (fwrite(block, 1, length, to) != length)
            return 1;
        full = 0;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
    }
    pthread_join(reader, NULL);
    return fclose(to) != 0;
}
