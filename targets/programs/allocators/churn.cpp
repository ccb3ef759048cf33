// Two threads allocate and free in all the ways that C and C++ have, so that memory is handed out again and again; one block
// is from before there were threads. Linked with different allocators.
// Wrong: a block is used after the other thread has freed it, at an offset where no allocator keeps a list.
// Options: --races off
// Expect: use_after_free
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

struct Node {
    long first, second, third, last;
};

struct alignas(64) Line {
    char bytes[192];
};

std::atomic<Node *> shared{nullptr};
std::atomic<int> freed{0};

static void keep(void *block, size_t size) {
    if (!block)
        abort();
    memset(block, 1, size);
}

static void churn(int from) {
    for (int i = from; i < from + 3; i++) {
        size_t size = 24 + 8 * static_cast<size_t>(i);
        void *block = malloc(size);
        keep(block, size);
        block = realloc(block, 4 * size);
        keep(block, 4 * size);
        free(block);
        block = calloc(3, size);
        keep(block, 3 * size);
        free(block);
        if (posix_memalign(&block, 64, size))
            abort();
        keep(block, size);
        free(block);
        block = aligned_alloc(32, 96);
        keep(block, 96);
        free(block);
        block = operator new(size, std::nothrow);
        keep(block, size);
        operator delete(block, std::nothrow);
        delete new Node{1, 2, 3, 4};
        int *array = new int[size];
        array[size - 1] = 1;
        delete[] array;
        Line *line = new Line;
        line->bytes[100] = 1;
        delete line;
        std::vector<std::string> strings(3, std::string(size, 'x'));
        auto pointer = std::make_shared<Node>();
        pointer->third = 2;
    }
}

static void take() {
    churn(1);
    Node *node = shared.exchange(nullptr, std::memory_order_acq_rel);
    if (node) {
        node->third = 5;
        delete node;
        freed.store(1, std::memory_order_release);
    }
    churn(2);
}

int main() {
    Node *node = new Node{7, 7, 7, 7};
    std::thread taker(take);
    churn(3);
    shared.store(node, std::memory_order_release);
#ifdef BUGGY
    if (freed.load(std::memory_order_acquire))
        node->third = 9;
#endif
    taker.join();
    return 0;
}
