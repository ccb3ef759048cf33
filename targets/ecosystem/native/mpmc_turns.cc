// A bounded queue in the style of folly's MPMCQueue: each slot has a turn, tickets are taken by compare and exchange.
#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory>
#include <new>
#include <thread>

template <class T> class Queue {
    struct Slot {
        std::atomic<uint32_t> turn{0};
        alignas(T) unsigned char contents[sizeof(T)];
    };
    static constexpr uint32_t capacity = 2;
    Slot slots[capacity];
    std::atomic<uint32_t> pushed{0}, popped{0};

  public:
    bool write(T value) {
        uint32_t ticket = pushed.load(std::memory_order_acquire);
        for (;;) {
            Slot &slot = slots[ticket % capacity];
            uint32_t turn = ticket / capacity * 2;
            if (slot.turn.load(std::memory_order_acquire) == turn) {
                if (pushed.compare_exchange_weak(ticket, ticket + 1, std::memory_order_relaxed)) {
                    new (slot.contents) T(std::move(value));
                    slot.turn.store(turn + 1, std::memory_order_release);
                    return true;
                }
            } else {
                uint32_t before = ticket;
                ticket = pushed.load(std::memory_order_acquire);
                if (ticket == before)
                    return false;
            }
        }
    }
    bool read(T &value) {
        uint32_t ticket = popped.load(std::memory_order_acquire);
        for (;;) {
            Slot &slot = slots[ticket % capacity];
            uint32_t turn = ticket / capacity * 2 + 1;
            if (slot.turn.load(std::memory_order_acquire) == turn) {
                if (popped.compare_exchange_weak(ticket, ticket + 1, std::memory_order_relaxed)) {
                    T *contents = std::launder(reinterpret_cast<T *>(slot.contents));
                    value = std::move(*contents);
                    contents->~T();
                    slot.turn.store(turn + 1, std::memory_order_release);
                    return true;
                }
            } else {
                uint32_t before = ticket;
                ticket = popped.load(std::memory_order_acquire);
                if (ticket == before)
                    return false;
            }
        }
    }
};

int main() {
    Queue<std::unique_ptr<int>> queue;
    int sent[2] = {0, 0};
    auto produce = [&](int me, int value) {
        for (int i = 0; i < 2; i++)
            if (queue.write(std::make_unique<int>(value)))
                sent[me] += value;
    };
    std::thread one(produce, 0, 1), two(produce, 1, 10);
    std::unique_ptr<int> value;
    int sum = 0;
    for (int i = 0; i < 2; i++)
        if (queue.read(value))
            sum += *value;
    one.join();
    two.join();
    while (queue.read(value))
        sum += *value;
    assert(sum == sent[0] + sent[1]);
}
