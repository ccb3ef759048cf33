// What libc++ has functions of its own for behind what is inline: barriers, waits, reference counts, call_once.
#include <atomic>
#include <barrier>
#include <cassert>
#include <latch>
#include <memory>
#include <mutex>
#include <semaphore>
#include <thread>

static int data[2];
static std::once_flag once;
static int made;

static void barriers() {
    std::barrier<> barrier(2);
    auto work = [&](int i) {
        data[i] = i + 1;
        barrier.arrive_and_wait();
        assert(data[1 - i] == 2 - i);
        barrier.arrive_and_wait();
        data[i] = 0;
    };
    std::thread a(work, 0), b(work, 1);
    a.join();
    b.join();
}

static void waits() {
    std::binary_semaphore semaphore(0);
    std::latch latch(1);
    std::atomic<int> flag{0};
    int first = 0, second = 0, third = 0;
    std::thread a([&] {
        first = 1;
        semaphore.release();
        second = 1;
        latch.count_down();
        third = 1;
        flag.store(1);
        flag.notify_one();
    });
    semaphore.acquire();
    assert(first == 1);
    latch.wait();
    assert(second == 1);
    flag.wait(0);
    assert(third == 1);
    a.join();
}

static void counts() {
    struct Node {
        int value = 1;
        ~Node() { value = 0; }
    };
    auto node = std::make_shared<Node>();
    std::weak_ptr<Node> weak = node;
    auto make = [] { std::call_once(once, [] { made = 3; }); };
    std::thread a([weak, make] {
        if (auto strong = weak.lock()) {
            assert(strong->value == 1);
        }
        make();
        assert(made == 3);
    });
    make();
    assert(made == 3);
    node.reset();
    a.join();
}

int main() {
    barriers();
    waits();
    counts();
    return 0;
}
