// Tasks: a parallel sum, and a task group.
#include <cassert>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_group.h>

int main() {
    tbb::global_control two(tbb::global_control::max_allowed_parallelism, 2);
    int sum = tbb::parallel_reduce(
        tbb::blocked_range<int>(0, 4, 1), 0,
        [](const tbb::blocked_range<int> &range, int sum) {
            for (int i = range.begin(); i != range.end(); i++)
                sum += i;
            return sum;
        },
        [](int a, int b) { return a + b; });
    assert(sum == 6);
    int one = 0, other = 0;
    tbb::task_group group;
    group.run([&] { one = 1; });
    group.run([&] { other = 2; });
    group.wait();
    assert(one + other == 3);
}
