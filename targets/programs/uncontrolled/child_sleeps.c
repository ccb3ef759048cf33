// A process that the program has made sleeps, in real time, and then sets a flag that a thread waits for.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic int *flag;
static unsigned rounds;

static void *wait_for_flag(void *unused) {
    while (!atomic_load(flag)) {
        rounds++;
        usleep(10);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    flag = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_create(&thread, NULL, wait_for_flag, NULL);
    pid_t child = fork();
    if (child == 0) {
        usleep(20000);
        atomic_store(flag, 1);
        _exit(0);
    }
    pthread_join(thread, NULL);
    waitpid(child, NULL, 0);
    return 0;
}
