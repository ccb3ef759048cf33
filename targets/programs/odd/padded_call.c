// A call with prefixes that mean nothing, as shared libraries make them for thread-local variables, on a stack that
// another thread has looked at.
// Expect: clean
// Options: --model tso
#include <pthread.h>
#include <semaphore.h>

static long *volatile place;
static sem_t shown, seen;

__asm__(".text\nanswer:\n\tmov $42, %eax\n\tret\n");

static long asks(void) {
    long result;
    __asm__ volatile("sub $128, %%rsp\n\t"
                     ".byte 0x66, 0x66, 0x48\n\tcall answer\n\t"
                     "add $128, %%rsp"
                     : "=a"(result)::"memory", "cc");
    return result;
}

static void *caller(void *result) {
    long here = 0;
    place = &here;
    sem_post(&shown);
    sem_wait(&seen);
    *(long *)result = asks() + here;
    return result;
}

static void *looker(void *sum) {
    sem_wait(&shown);
    for (int i = 0; i < 64; ++i)
        *(long *)sum += place[-i];
    sem_post(&seen);
    return sum;
}

int main(void) {
    pthread_t a, b;
    long result = 0, sum = 0;
    sem_init(&shown, 0, 0);
    sem_init(&seen, 0, 0);
    pthread_create(&a, NULL, caller, &result);
    pthread_create(&b, NULL, looker, &sum);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return result != 42;
}
