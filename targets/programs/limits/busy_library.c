// A thread calls a library that computes for long in memory that it shares with the program.
// Expect: clean
// Plugin: yes
#ifdef PLUGIN
unsigned volatile table[64];

unsigned churns(unsigned rounds) {
    for (unsigned round = 0; round < rounds; round++)
        table[round % 64] += round;
    return table[0];
}
#else
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

static unsigned (*churns)(unsigned);

static void *worker(void *unused) {
    churns(2000);
    return unused;
}

int main(int count, char **arguments) {
    void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    if (!library || !(churns = (unsigned (*)(unsigned))dlsym(library, "churns")))
        return 9;
    pthread_t a;
    pthread_create(&a, NULL, worker, NULL);
    pthread_join(a, NULL);
    return 0;
}
#endif
