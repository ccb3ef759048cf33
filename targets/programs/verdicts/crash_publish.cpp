// A node is filled and then published; readers follow the pointer in it.
// Wrong: it is published relaxed, so a reader may find the node with its pointer still null. Right: release, acquire.
// Expect: crash
#include <atomic>
#include <thread>

struct Node {
    std::atomic<const int *> data;
};

#ifdef BUGGY
constexpr auto publish = std::memory_order_relaxed, receive = std::memory_order_relaxed;
#else
constexpr auto publish = std::memory_order_release, receive = std::memory_order_acquire;
#endif

const int value = 42;
Node node{nullptr};
std::atomic<Node *> published{nullptr};

int main() {
    int seen = 42;
    std::thread writer([] {
        node.data.store(&value, std::memory_order_relaxed);
        published.store(&node, publish);
    });
    std::thread reader([&seen] {
        if (Node *found = published.load(receive))
            seen = *static_cast<const volatile int *>(found->data.load(std::memory_order_relaxed));
    });
    writer.join();
    reader.join();
    return seen != 42;
}
