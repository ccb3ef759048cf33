// Every process forks and goes on.
// Wrong: until 200 processes exist, all of which then wait for ever; an alarm ends them should they escape. (A real bomb
// would take the machine with it: root has no limit on processes.) Right: three processes, which end.
// Options: --timeout 2 --limits bug
// Expect: timeout|deadlock
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef BUGGY
enum { LIMIT = 200 };
#else
enum { LIMIT = 3 };
#endif

int main(void) {
    atomic_int *processes = mmap(0, sizeof *processes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    alarm(20);
    while (atomic_fetch_add(processes, 1) < LIMIT - 1) {
        if (fork() == 0)
            alarm(20); // a child does not inherit it
    }
#ifdef BUGGY
    for (;;)
        pause();
#endif
    while (wait(NULL) > 0) {
    }
    return 0;
}
