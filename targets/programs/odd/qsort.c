// Two threads sort; the C library calls back into the program, which counts comparisons.
// Wrong: in a plain counter. Right: in an atomic one.
// Expect: race
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifdef BUGGY
static int comparisons;
#else
static atomic_int comparisons;
#endif

static int compare(const void *a, const void *b) {
    comparisons += 1;
    return *(const int *)a - *(const int *)b;
}

static void *sort(void *numbers) {
    qsort(numbers, 4, sizeof(int), compare);
    return NULL;
}

int main(void) {
    int a[] = {4, 3, 2, 1}, b[] = {2, 1, 4, 3};
    pthread_t thread;
    pthread_create(&thread, NULL, sort, a);
    sort(b);
    pthread_join(thread, NULL);
    for (int i = 0; i < 4; ++i) {
        if (a[i] != i + 1 || b[i] != i + 1)
            return 1;
    }
    return comparisons == 0;
}
