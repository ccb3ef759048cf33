// A list of robust mutexes at the end of the address space, where no memory is: the kernel ignores it.
// Expect: clean
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *nowhere(void *unused) {
    for (uintptr_t back = 0; back <= 24; back += 4)
        syscall(SYS_set_robust_list, -back - 1, 24);
    syscall(SYS_set_robust_list, (uintptr_t)-8, 24);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, nowhere, NULL);
    return pthread_join(thread, NULL);
}
