// A thread makes the processor complain, in the way that the argument says.
// Wrong: always.
// Expect: crash
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile int zero;
static const char *way = "";

static void *fails(void *unused) {
    if (strcmp(way, "divide") == 0)
        zero = 100 / zero;
    if (strcmp(way, "illegal") == 0)
        __builtin_trap();
    if (strcmp(way, "file") == 0) {
        char name[] = "/tmp/faults-XXXXXX";
        int file = mkstemp(name);
        unlink(name);
        volatile char *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        mapped[17] = 1;
    }
    if (strcmp(way, "constant") == 0)
        *(volatile char *)"constant" = 1;
    return unused;
}

int main(int count, char **words) {
    pthread_t thread;
    if (count > 1)
        way = words[1];
    pthread_create(&thread, NULL, fails, NULL);
    pthread_join(thread, NULL);
    return 0;
}
