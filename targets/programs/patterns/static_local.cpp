// Two threads come to a function's static variable, which the compiler guards.
// Right only: there is nothing that the programmer could forget.
// Expect: clean
#include <thread>

struct Table {
    int values[4];
    Table() {
        for (int i = 0; i < 4; ++i)
            values[i] = i;
    }
};

const Table &table() {
    static Table made;
    return made;
}

int main() {
    int a = 0, b = 0;
    std::thread first([&a] { a = table().values[3]; });
    std::thread second([&b] { b = table().values[3]; });
    first.join();
    second.join();
    return a != 3 || b != 3;
}
