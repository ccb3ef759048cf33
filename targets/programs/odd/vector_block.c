// Looks at whole aligned blocks, as code that searches or sums with vectors does, and ignores what lies beyond its
// buffer; there it is freed memory. Wrong: the last block has nothing of the buffer.
// Flags: -mavx
// Options: --model tso
// Expect: use_after_free
#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *searcher(void *unused) {
    // The buffer is a part of what was freed.
    void *volatile before = malloc(4000);
    free(before);
    char *buffer = memset(malloc(72), -1, 72);
    uintptr_t last = (uintptr_t)(buffer + 71);
#ifdef BUGGY
    last += 96;
#endif
    __m128i small = _mm_load_si128((const __m128i *)(last & -16));
    __m256i large = _mm256_load_si256((const __m256i *)(last & -32));
    int found = _mm_movemask_epi8(small) | _mm256_movemask_ps(_mm256_castsi256_ps(large));
    return found < 0x10000 ? unused : NULL;
}

int main(void) {
    int one = 1;
    pthread_t a, b;
    void *result[2];
    pthread_create(&a, NULL, searcher, &one);
    pthread_create(&b, NULL, searcher, &one);
    pthread_join(a, &result[0]);
    pthread_join(b, &result[1]);
    return result[0] != &one || result[1] != &one;
}
