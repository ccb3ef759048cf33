// Code that is changed while there are threads, and code that is made at run time, do what they say.
// Expect: clean
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

typedef int function(void);

__attribute__((noinline, section("changing"), aligned(4096))) static int answer(void) {
    __asm__ volatile("");
    return 1;
}

static const unsigned char two[] = {0xb8, 2, 0, 0, 0, 0xc3}; // mov eax, 2; ret

static void *work(void *failed) {
    function *volatile call = answer;
    void *page = (void *)((uintptr_t)answer & ~4095ul);
    int wrong = call() != 1;
    wrong |= mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) != 0;
    wrong |= call() != 1;
    memcpy((void *)answer, two, sizeof two);
    wrong |= call() != 2;
    wrong |= mprotect(page, 4096, PROT_READ | PROT_EXEC) != 0;
    wrong |= call() != 2;
    void *made = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(made, two, sizeof two);
    wrong |= mprotect(made, 4096, PROT_READ | PROT_EXEC) != 0;
    wrong |= ((function *)made)() != 2;
    munmap(made, 4096);
    *(int *)failed = wrong;
    return failed;
}

int main(void) {
    pthread_t thread;
    int failed = 1;
    pthread_create(&thread, 0, work, &failed);
    pthread_join(thread, 0);
    return failed;
}
