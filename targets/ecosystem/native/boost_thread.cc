// Boost's own atomics, intrusive counts, shared_mutex, latch and synchronised queue.
#include <boost/atomic.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <boost/smart_ptr/atomic_shared_ptr.hpp>
#include <boost/smart_ptr/make_shared.hpp>
#include <boost/thread/latch.hpp>
#include <boost/thread/shared_mutex.hpp>
#include <boost/thread/sync_bounded_queue.hpp>
#include <cassert>
#include <thread>

struct Object : boost::intrusive_ref_counter<Object> {
    int value = 1;
};

int main() {
    boost::intrusive_ptr<Object> object(new Object);
    boost::atomic_shared_ptr<int> shared(boost::make_shared<int>(1));
    boost::atomic<int> flag(0);
    boost::latch latch(1);
    boost::shared_mutex mutex;
    boost::sync_bounded_queue<int> queue(1);
    int data = 0, both[2] = {0, 0};
    std::thread other([&, object] {
        data = 1;
        boost::atomic_thread_fence(boost::memory_order_release);
        flag.store(1, boost::memory_order_relaxed);
        shared.store(boost::make_shared<int>(2));
        {
            boost::unique_lock<boost::shared_mutex> lock(mutex);
            both[0] = both[1] = object->value;
        }
        queue.push_back(1);
        queue.push_back(2);
        latch.count_down();
    });
    if (flag.load(boost::memory_order_relaxed)) {
        boost::atomic_thread_fence(boost::memory_order_acquire);
        assert(data == 1);
    }
    auto value = shared.load();
    assert(*value == 1 || *value == 2);
    {
        boost::shared_lock<boost::shared_mutex> lock(mutex);
        assert(both[0] == both[1]);
    }
    assert(object->value == 1);
    object.reset();
    int first, second;
    queue.pull_front(first);
    queue.pull_front(second);
    assert(first == 1 && second == 2);
    latch.wait();
    other.join();
}
