// C++20's latch, barrier, semaphore, jthread and stop token together.
// Wrong: one thread does not arrive at the latch. Right: all do.
// Flags: -std=c++20
// Expect: deadlock
#include <atomic>
#include <barrier>
#include <latch>
#include <semaphore>
#include <stop_token>
#include <thread>

std::latch started(2);
std::barrier<> phase(2);
std::counting_semaphore<4> tokens(0);
int cells[2];

void work(int me) {
#ifdef BUGGY
    if (me == 0)
        started.count_down();
#else
    started.count_down();
#endif
    cells[me] = me + 1;
    phase.arrive_and_wait();
    if (cells[1 - me] == 2 - me)
        tokens.release();
}

int main() {
    std::jthread first(work, 0), second(work, 1);
    started.wait();
    tokens.acquire();
    tokens.acquire();
    std::jthread stopped([](std::stop_token stop) {
        while (!stop.stop_requested())
            std::this_thread::yield();
    });
    stopped.request_stop();
    return 0;
}
