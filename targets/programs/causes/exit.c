// A program without a bug but for its exit status: a report has no line to show.
// Wrong: always.
// Expect: exit
#include <pthread.h>

static void *nothing(void *unused) {
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, nothing, 0);
    pthread_join(thread, 0);
    return 3;
}
