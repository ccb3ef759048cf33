// Two threads move money between two accounts, in both directions.
// Wrong: each locks its source first. Right: std::scoped_lock, which backs off.
// Expect: deadlock
#include <mutex>
#include <thread>

struct Account {
    std::mutex lock;
    int money = 10;
};

void move(Account &from, Account &to) {
#ifdef BUGGY
    std::lock_guard<std::mutex> first(from.lock);
    std::lock_guard<std::mutex> second(to.lock);
#else
    std::scoped_lock both(from.lock, to.lock);
#endif
    from.money -= 1;
    to.money += 1;
}

int main() {
    Account a, b;
    std::thread there([&] { move(a, b); }), back([&] { move(b, a); });
    there.join();
    back.join();
    return a.money != 10 || b.money != 10;
}
