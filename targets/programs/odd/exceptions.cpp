// Exceptions: caught in the thread, carried to another thread, thrown through a callback of the C library, and through a
// virtual function.
// Expect: clean
#include <atomic>
#include <cassert>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <thread>

std::atomic<int> caught{0};

int compare(const void *a, const void *b) {
    if (*static_cast<const int *>(a) == *static_cast<const int *>(b))
        throw std::domain_error("equal");
    return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

struct Base {
    virtual void act() = 0;
};

struct Throws : Base {
    void act() override { throw caught.load(); }
};

struct Quiet : Base {
    void act() override {}
};

Throws throws;
Quiet quiet;
// Which one it is, no compiler knows.
Base *volatile base = &quiet;

void work(std::exception_ptr &carried) {
    try {
        base->act();
    } catch (int) {
        caught.fetch_add(1);
    }
    int numbers[] = {2, 2};
    try {
        std::qsort(numbers, 2, sizeof *numbers, compare);
    } catch (const std::domain_error &) {
        caught.fetch_add(1);
    }
    try {
        throw std::runtime_error("carried");
    } catch (...) {
        carried = std::current_exception();
    }
}

int main() {
    std::exception_ptr carried[2];
    base = &throws;
    std::thread first(work, std::ref(carried[0])), second(work, std::ref(carried[1]));
    first.join();
    second.join();
    for (std::exception_ptr &one : carried) {
        try {
            std::rethrow_exception(one);
        } catch (const std::runtime_error &) {
            caught.fetch_add(1);
        }
    }
    assert(caught == 6);
    return 0;
}
