// The seqlock of Boehm (MSPC 2012): relaxed data, an acquire fence before the sequence is read again.
#include <atomic>
#include <cassert>
#include <thread>

template <class T> class Seqlock {
    std::atomic<unsigned> sequence{0};
    std::atomic<T> first, second;

  public:
    explicit Seqlock(T value) : first(value), second(value) {}
    void write(T value) {
        unsigned begin = sequence.load(std::memory_order_relaxed);
        sequence.store(begin + 1, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_release);
        first.store(value, std::memory_order_relaxed);
        second.store(value, std::memory_order_relaxed);
        sequence.store(begin + 2, std::memory_order_release);
    }
    std::pair<T, T> read() const {
        for (;;) {
            unsigned begin = sequence.load(std::memory_order_acquire);
            if (begin & 1)
                continue;
            T a = first.load(std::memory_order_relaxed);
            T b = second.load(std::memory_order_relaxed);
            std::atomic_thread_fence(std::memory_order_acquire);
            if (sequence.load(std::memory_order_relaxed) == begin)
                return {a, b};
        }
    }
};

int main() {
    Seqlock<long> lock(0);
    std::thread reader([&lock] {
        for (int i = 0; i < 2; i++) {
            auto [a, b] = lock.read();
            assert(a == b);
        }
    });
    lock.write(1);
    lock.write(2);
    reader.join();
}
