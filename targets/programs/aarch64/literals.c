// Data among the code, as compilers and assemblers put it there: literals, a table behind a branch, words that would be
// instructions of interest if they were code; read by two threads, also as vectors (LD1, ST1, LDP of SIMD registers).
// Expect: clean
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static atomic_int done;

// `ldr x0, [x0]`, `str x0, [x0]`, `svc 0`, `dmb ish`: as data.
#define WORDS "0xf9400000, 0xf9000000, 0xd4000001, 0xd5033bbf"

static uint64_t literal(void) {
    uint64_t value;
    __asm__ volatile("ldr %0, 1f\n b 2f\n .balign 8\n1: .quad 0xd4000001f9400000\n2:" : "=r"(value));
    return value;
}

static void table(uint32_t *to) {
    const uint32_t *from;
    __asm__ volatile("adr %0, 1f\n b 2f\n .balign 16\n1: .word " WORDS "\n2:" : "=r"(from));
    for (int i = 0; i < 4; i++)
        to[i] = from[i];
}

static void vectors(uint32_t *to) {
    __asm__ volatile("adr x9, 1f\n b 2f\n .balign 16\n1: .word " WORDS "\n"
                     "2: ld1 {v0.4s}, [x9]\n st1 {v0.4s}, [%0]\n"
                     "   ld1 {v1.2d}, [%0]\n stp q0, q1, [%0]\n ldp q2, q3, [%0]\n st1 {v2.4s, v3.4s}, [%0]\n"
                     :
                     : "r"(to)
                     : "x9", "v0", "v1", "v2", "v3", "memory");
}

static void *check(void *unused) {
    static const uint32_t words[] = {0xf9400000, 0xf9000000, 0xd4000001, 0xd5033bbf};
    uint32_t copy[8];
    if (literal() != 0xd4000001f9400000)
        return &done;
    table(copy);
    if (memcmp(copy, words, sizeof words))
        return &done;
    vectors(copy);
    if (memcmp(copy, words, sizeof words) || memcmp(copy + 4, words, sizeof words))
        return &done;
    atomic_fetch_add_explicit(&done, 1, memory_order_relaxed);
    return unused;
}

int main(void) {
    pthread_t thread;
    void *failed;
    pthread_create(&thread, NULL, check, NULL);
    void *mine = check(NULL);
    pthread_join(thread, &failed);
    return mine != NULL || failed != NULL || done != 2;
}
