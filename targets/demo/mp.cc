#include <atomic>
#include <thread>
#include <cstdio>
int data;
std::atomic<int> flag{0};
int main() {
  std::thread a([]{
    data = 1;
    flag.store(1, std::memory_order_relaxed);
  });
  std::thread b([]{
    if (flag.load(std::memory_order_relaxed))
      printf("%d\n", data);
  });
  a.join(); b.join();
}
