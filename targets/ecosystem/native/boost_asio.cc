// A pool of two threads and a strand.
#include <boost/asio.hpp>
#include <cassert>

int main() {
    boost::asio::thread_pool pool(2);
    auto strand = boost::asio::make_strand(pool);
    int count = 0;
    for (int i = 0; i < 3; i++)
        boost::asio::post(strand, [&count] { count++; });
    auto future = boost::asio::post(pool, std::packaged_task<int()>([] { return 7; }));
    assert(future.get() == 7);
    pool.join();
    assert(count == 3);
}
