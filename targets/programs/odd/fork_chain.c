// Forks and exits, and its child does the same: never more than two processes, but always one.
// Wrong: 20,000 generations. The first process ends at once; what it leaves behind must not outlive its execution.
// Right: three generations.
// Expect: clean|timeout
#include <unistd.h>

#ifdef BUGGY
enum { GENERATIONS = 20000 };
#else
enum { GENERATIONS = 3 };
#endif

int main(void) {
    for (int i = 0; i < GENERATIONS; ++i) {
        if (fork() != 0)
            _exit(0);
    }
    return 0;
}
