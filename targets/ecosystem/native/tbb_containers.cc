// Concurrent containers, by two threads.
#include <cassert>
#include <memory>
#include <tbb/concurrent_hash_map.h>
#include <tbb/concurrent_queue.h>
#include <tbb/concurrent_vector.h>
#include <tbb/concurrent_unordered_map.h>
#include <thread>

int main() {
    tbb::concurrent_queue<std::shared_ptr<int>> queue;
    tbb::concurrent_bounded_queue<int> bounded;
    bounded.set_capacity(1);
    tbb::concurrent_hash_map<int, int> map;
    tbb::concurrent_vector<int> vector;
    tbb::concurrent_unordered_map<int, int> unordered;
    std::thread other([&] {
        queue.push(std::make_shared<int>(1));
        bounded.push(1);
        bounded.push(2);
        {
            tbb::concurrent_hash_map<int, int>::accessor accessor;
            map.insert(accessor, 1);
            accessor->second += 1;
        }
        vector.push_back(1);
        unordered.insert({1, 10});
    });
    std::shared_ptr<int> value;
    if (queue.try_pop(value))
        assert(*value == 1);
    int a, b;
    bounded.pop(a);
    bounded.pop(b);
    assert(a == 1 && b == 2);
    {
        tbb::concurrent_hash_map<int, int>::accessor accessor;
        map.insert(accessor, 1);
        accessor->second += 1;
    }
    vector.push_back(2);
    if (auto found = unordered.find(1); found != unordered.end())
        assert(found->second == 10);
    other.join();
    tbb::concurrent_hash_map<int, int>::const_accessor accessor;
    assert(map.find(accessor, 1) && accessor->second == 2);
    assert(vector.size() == 2 && vector[0] + vector[1] == 3);
}
