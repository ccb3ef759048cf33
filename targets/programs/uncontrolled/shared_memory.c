// A process that the program has made counts, in memory that the two share, and a thread looks at it.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic unsigned *counter;
static unsigned sum;

static void *look(void *unused) {
    for (int i = 0; i < 20; i++)
        sum += atomic_load(counter);
    return unused;
}

int main(void) {
    pthread_t thread;
    counter = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        for (;;)
            atomic_fetch_add(counter, 1);
    }
    pthread_create(&thread, NULL, look, NULL);
    pthread_join(thread, NULL);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 0;
}
