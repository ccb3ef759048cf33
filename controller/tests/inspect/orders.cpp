// Every order once, a function each: what `wmtrace inspect` must find.
#include <atomic>
std::atomic<int> x, y;
std::atomic<long> n;
int data;
int load_relaxed() { return x.load(std::memory_order_relaxed); }
int load_acquire() { return x.load(std::memory_order_acquire); }
int load_seq_cst() { return x.load(); }
void store_relaxed() { x.store(1, std::memory_order_relaxed); }
void store_release() { x.store(1, std::memory_order_release); }
void store_seq_cst() { x = 1; }
long add_relaxed() { return n.fetch_add(3, std::memory_order_relaxed); }
long add_acq_rel() { return n.fetch_add(3, std::memory_order_acq_rel); }
bool cas() { int e = 1; return x.compare_exchange_strong(e, 2, std::memory_order_acq_rel, std::memory_order_relaxed); }
int fence_acquire() { int r = x.load(std::memory_order_relaxed); std::atomic_thread_fence(std::memory_order_acquire); return r + data; }
void fence_seq_cst() { x.store(1, std::memory_order_relaxed); std::atomic_thread_fence(std::memory_order_seq_cst); y.store(1, std::memory_order_relaxed); }
void plain() { data = 1; }
int main() { return load_relaxed(); }
