// Locks, and values of each thread's own.
#include <cassert>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/queuing_mutex.h>
#include <tbb/queuing_rw_mutex.h>
#include <tbb/spin_mutex.h>
#include <tbb/spin_rw_mutex.h>
#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/rw_mutex.h>
#include <thread>

template <class Mutex> void exclusive(Mutex &mutex, int &count) {
    typename Mutex::scoped_lock lock(mutex);
    count++;
}

template <class Mutex> void shared(Mutex &mutex, int &count) {
    {
        typename Mutex::scoped_lock lock(mutex, false);
        assert(count < 2);
    }
    typename Mutex::scoped_lock lock(mutex, true);
    count++;
}

int main() {
    tbb::spin_mutex spin;
    tbb::queuing_mutex queuing;
    tbb::mutex plain;
    tbb::spin_rw_mutex spin_rw;
    tbb::queuing_rw_mutex queuing_rw;
    tbb::rw_mutex rw;
    tbb::enumerable_thread_specific<int> own(0);
    int counts[6] = {};
    auto work = [&] {
        exclusive(spin, counts[0]);
        exclusive(queuing, counts[1]);
        exclusive(plain, counts[2]);
        shared(spin_rw, counts[3]);
        shared(queuing_rw, counts[4]);
        shared(rw, counts[5]);
        own.local()++;
    };
    std::thread other(work);
    work();
    other.join();
    for (int count : counts)
        assert(count == 2);
    assert(own.combine([](int a, int b) { return a + b; }) == 2);
}
