// Threads share an object by std::shared_ptr; the last one deletes it.
// Wrong: they copy from the same shared_ptr while it is reset. Right: each has a copy of its own.
// Expect: race|use_after_free
#include <memory>
#include <thread>

struct Object {
    explicit Object(int *counter) : deleted(counter) {}
    ~Object() { *deleted += 1; }
    int *deleted;
    int value = 42;
};

int main() {
    int deleted = 0, a = 0;
    std::shared_ptr<Object> shared = std::make_shared<Object>(&deleted);
#ifdef BUGGY
    std::thread reader([&shared, &a] {
        std::shared_ptr<Object> mine = shared;
        a = mine ? mine->value : 42;
    });
#else
    std::thread reader([mine = shared, &a]() mutable {
        a = mine->value;
        mine.reset();
    });
#endif
    shared.reset();
    reader.join();
    return a != 42 || deleted != 1;
}
