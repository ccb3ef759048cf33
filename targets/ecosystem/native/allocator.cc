// Memory that one thread allocates and another frees, and that is then handed out again.
#include <atomic>
#include <cassert>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

struct alignas(64) Line {
    int value;
};

static std::atomic<std::vector<int> *> slot{nullptr};

int main() {
    std::thread producer([] {
        for (int i = 1; i <= 3; i++) {
            auto *vector = new std::vector<int>(16, i);
            delete slot.exchange(vector, std::memory_order_acq_rel);
            void *block = malloc(16 * sizeof(int));
            block = realloc(block, 64 * sizeof(int));
            free(block);
        }
    });
    int last = 0;
    for (int i = 0; i < 3; i++) {
        std::unique_ptr<std::vector<int>> vector(slot.exchange(nullptr, std::memory_order_acq_rel));
        if (vector) {
            assert(vector->front() == vector->back() && vector->front() > last);
            last = vector->front();
        }
        auto line = std::make_unique<Line>(Line{i});
        assert(line->value == i);
        void *aligned;
        assert(posix_memalign(&aligned, 128, 256) == 0);
        *static_cast<int *>(aligned) = i;
        free(aligned);
    }
    producer.join();
    delete slot.load(std::memory_order_relaxed);
}
