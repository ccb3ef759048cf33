// Parallel algorithms of the standard library (over TBB).
#include <algorithm>
#include <cassert>
#include <execution>
#include <numeric>
#include <tbb/global_control.h>
#include <vector>

int main() {
    tbb::global_control two(tbb::global_control::max_allowed_parallelism, 2);
    std::vector<int> values(8);
    std::iota(values.begin(), values.end(), 1);
    std::for_each(std::execution::par, values.begin(), values.end(), [](int &value) { value *= 2; });
    assert(std::reduce(std::execution::par, values.begin(), values.end()) == 72);
}
