// The program itself has redirected its standard input before it makes threads: each execution reads from where it was then.
// Expect: clean
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *reader(void *unused) {
    char start[4];
    if (read(0, start, 4) != 4 || memcmp(start, "\177ELF", 4))
        abort();
    return unused;
}

int main(int argc, char **argv) {
    (void)argc;
    pthread_t thread;
    int file = open(argv[0], O_RDONLY);
    dup2(file, 0);
    close(file);
    pthread_create(&thread, NULL, reader, NULL);
    pthread_join(thread, NULL);
    return 0;
}
