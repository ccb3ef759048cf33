// A semaphore as a lock.
#include <cassert>
#include <semaphore>
#include <thread>

int main() {
    std::binary_semaphore turn(1);
    int shared = 0;
    auto work = [&] {
        turn.acquire();
        shared++;
        turn.release();
    };
    std::thread other(work);
    work();
    other.join();
    assert(shared == 2);
}
