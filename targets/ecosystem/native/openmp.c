// A parallel loop with a reduction, a critical section, atomics, a barrier, tasks and single.
#include <assert.h>
#include <omp.h>

int main(void) {
    int sum = 0, count = 0, atomic = 0, single = 0, a = 0, b = 0;
    omp_set_num_threads(2);
#pragma omp parallel
    {
#pragma omp for schedule(dynamic) reduction(+ : sum)
        for (int i = 0; i < 4; i++)
            sum += i;
#pragma omp critical
        count++;
#pragma omp atomic
        atomic++;
#pragma omp barrier
#pragma omp single
        {
#pragma omp task shared(a)
            a = 1;
#pragma omp task shared(b)
            b = 2;
#pragma omp taskwait
            single = a + b;
        }
        assert(single == 3 && atomic == 2);
    }
    assert(sum == 6 && count == 2);
    return 0;
}
