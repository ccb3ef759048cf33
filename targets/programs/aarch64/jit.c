// Makes a function at run time, and calls it. (No program for x86-64: the function is AArch64's `mov w0, #7; ret`.)
// Expect: clean
// Status: 7
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static void *work(void *result) {
    static const uint32_t code[] = {0x528000e0, 0xd65f03c0};
    int (*function)(void);
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(memory, code, sizeof code);
    mprotect(memory, 4096, PROT_READ | PROT_EXEC);
    __builtin___clear_cache(memory, (char *)memory + 4096);
    memcpy(&function, &memory, sizeof function);
    *(int *)result = function();
    return NULL;
}

int main(void) {
    pthread_t thread;
    int result = 0;
    pthread_create(&thread, NULL, work, &result);
    pthread_join(thread, NULL);
    return result;
}
