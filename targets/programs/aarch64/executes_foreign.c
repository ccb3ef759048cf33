// Replaces itself by a program for the machine that it runs on, which is none for AArch64.
// Expect: clean
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static void *replace(void *unused) {
    execl("/bin/true", "true", (char *)NULL);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, replace, NULL);
    pthread_join(thread, NULL);
    return 1;
}
