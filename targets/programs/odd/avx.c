// 32 bytes are written and read by single AVX instructions.
// Wrong: published relaxed. Right: release and acquire.
// Flags: -mavx2
// Expect: race
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static _Alignas(32) int shared[8];
static atomic_int flag;
static int sum = 8;

static void *writer(void *unused) {
    _mm256_store_si256((__m256i *)shared, _mm256_set1_epi32(1));
#ifdef BUGGY
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
#else
    atomic_store_explicit(&flag, 1, memory_order_release);
#endif
    return unused;
}

static void *reader(void *unused) {
    _Alignas(32) int copy[8];
    if (!atomic_load_explicit(&flag, memory_order_acquire))
        return unused;
    _mm256_store_si256((__m256i *)copy, _mm256_load_si256((const __m256i *)shared));
    sum = 0;
    for (int i = 0; i < 8; ++i)
        sum += copy[i];
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, writer, NULL);
    pthread_create(&b, NULL, reader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return sum != 8;
}
