// Two threads add to a plain counter.
// Wrong: nothing orders the additions; one may be lost. Right: a mutex.
// Expect: race
#include <mutex>
#include <thread>

std::mutex lock;
int counter;

void add() {
#ifndef BUGGY
    std::lock_guard<std::mutex> guard(lock);
#endif
    counter += 1;
}

int main() {
    std::thread first(add), second(add);
    first.join();
    second.join();
    return 0;
}
