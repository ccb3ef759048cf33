// Says by which name it was called.
// Wrong: and then fails, so that it is shown. Right: it does not fail.
// Expect: assertion
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static void *work(void *unused) {
    return unused;
}

int main(int argc, char **argv) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    printf("called %s\n", argv[0]);
    fflush(stdout);
#ifdef BUGGY
    assert(argc < 0);
#endif
    return argc != 1;
}
