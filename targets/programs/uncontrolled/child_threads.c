// A process that the program has made has two threads, which write memory that the program shares.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic int *state;
static int values[2] = {1, 2};
static int sum;

static void *write_value(void *value) {
    for (;;)
        atomic_store(state, *(int *)value);
    return NULL;
}

static void *look(void *unused) {
    for (int i = 0; i < 50; i++)
        sum += atomic_load(state);
    return unused;
}

int main(void) {
    pthread_t thread, writers[2];
    state = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_create(&thread, NULL, look, NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        for (int i = 0; i < 2; i++)
            pthread_create(&writers[i], NULL, write_value, &values[i]);
        pause();
    }
    pthread_join(thread, NULL);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 0;
}
