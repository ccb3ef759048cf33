// A reference count by hand: who takes it to zero deletes the object.
// Wrong: the count is decremented relaxed, so another's last use races with the deletion. Right: acq_rel.
// Expect: race
#include <atomic>
#include <thread>

struct Object {
    std::atomic<int> references{2};
    int values[2] = {0, 0};
};

#ifdef BUGGY
constexpr auto drop = std::memory_order_relaxed;
#else
constexpr auto drop = std::memory_order_acq_rel;
#endif

int sum;

void use(Object *object, int me) {
    object->values[me] = me + 1;
    if (object->references.fetch_sub(1, drop) == 1) {
        sum = object->values[0] + object->values[1];
        delete object;
    }
}

int main() {
    Object *object = new Object;
    std::thread first(use, object, 0), second(use, object, 1);
    first.join();
    second.join();
    return sum != 3;
}
