// A block is freed while another thread still looks at it, in several places.
// Wrong: always. One place frees, so that there is one reason.
// Expect: use_after_free
#include <atomic>
#include <thread>

struct Block {
    std::atomic<int> first{1}, second{2}, third{3};
};

static std::atomic<Block *> shared;
static std::atomic<int> sum;

static void give_up() {
    delete shared.load();
}

static void add(Block *block) {
    sum += block->first.load();
    sum += block->second.load();
}

int main() {
    shared = new Block;
    std::thread frees(give_up);
    std::thread reads([] {
        add(shared.load());
        sum += shared.load()->third.load();
    });
    frees.join();
    reads.join();
    return 0;
}
