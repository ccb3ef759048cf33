// OpenMP's atomic constructs and reductions.
#include <assert.h>
#include <stdio.h>

int main(void) {
    int data = 0, flag = 0, seen = 1, count = 0;
    double sum = 0;
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        {
            data = 42;
#pragma omp atomic write release
            flag = 1;
#pragma omp atomic
            count += 1;
        }
#pragma omp section
        {
            int ready;
#pragma omp atomic read acquire
            ready = flag;
            if (ready) {
                seen = data == 42;
            }
#pragma omp atomic
            count += 2;
        }
    }
#pragma omp parallel for reduction(+ : sum) num_threads(2)
    for (int i = 0; i < 4; i++) {
        sum += i + 0.5;
    }
    assert(seen && count == 3 && sum == 8);
    return 0;
}
