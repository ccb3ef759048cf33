// Everything at once that could block a tool's own locks, while other threads are held: 64 threads, processes that are
// forked and that execute something, a plugin that is loaded and unloaded, a timer's signals, a thread that never ends.
// At last a thread replaces the program, and a thread of the new one ends it.
// Plugin: yes
// Expect: clean
// Status: 3
#define _GNU_SOURCE
#include <stdatomic.h>

#ifdef PLUGIN
static atomic_int calls;
int count(void);
int count(void) {
    return atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
}
#else
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY 64

static char *plugin;
static atomic_int done, ticks, loaded, waited;

static void on_alarm(int signal) {
    (void)signal;
    atomic_fetch_add_explicit(&ticks, 1, memory_order_relaxed);
}

static void *one_of_many(void *unused) {
    atomic_fetch_add_explicit(&done, 1, memory_order_relaxed);
    if (atomic_load_explicit(&done, memory_order_relaxed) % 2)
        pthread_exit(unused);
    return unused;
}

static void *never_ends(void *unused) {
    for (;;)
        pause();
    return unused;
}

static void *loads(void *unused) {
    for (int i = 0; i < 2; i++) {
        void *library = dlopen(plugin, RTLD_NOW);
        int (*count)(void);
        if (!library)
            return unused;
        *(void **)&count = dlsym(library, "count");
        void *memory = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        // A new copy each time: it counts from 0.
        if (count && count() == 0 && memory != MAP_FAILED)
            atomic_fetch_add_explicit(&loaded, 1, memory_order_relaxed);
        munmap(memory, 1 << 16);
        dlclose(library);
    }
    return unused;
}

static void wait_for(pid_t child, int status) {
    int found;
    if (waitpid(child, &found, 0) == child && WIFEXITED(found) && WEXITSTATUS(found) == status)
        atomic_fetch_add_explicit(&waited, 1, memory_order_relaxed);
}

static void *forks(void *unused) {
    pid_t child = fork();
    if (child == 0) {
        atomic_fetch_add_explicit(&done, 1, memory_order_relaxed);
        _exit(7);
    }
    wait_for(child, 7);
    child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "child", plugin, "child", (char *)NULL);
        _exit(1);
    }
    wait_for(child, 5);
    child = fork();
    if (child == 0) {
        execl("/nowhere", "child", (char *)NULL);
        _exit(6);
    }
    wait_for(child, 6);
    return unused;
}

static void *replaces(void *name) {
    execl("/proc/self/exe", name, plugin, "last", (char *)NULL);
    _exit(1);
}

static void *ends_all(void *unused) {
    exit(3);
    return unused;
}

int main(int argc, char **argv) {
    pthread_t many[MANY], loader, forker, last, forever;
    struct itimerval every = {{0, 50}, {0, 50}}, off = {{0, 0}, {0, 0}};
    struct sigaction action;
    if (argc == 3 && strcmp(argv[2], "child") == 0)
        return 5;
    if (argc == 3) {
        pthread_create(&last, NULL, ends_all, NULL);
        pthread_join(last, NULL);
        return 1;
    }
    if (argc != 2)
        return 1;
    plugin = argv[1];
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    pthread_create(&forever, NULL, never_ends, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    pthread_create(&loader, NULL, loads, NULL);
    pthread_create(&forker, NULL, forks, NULL);
    for (int i = 0; i < MANY; i++)
        if (pthread_create(&many[i], NULL, one_of_many, NULL))
            return 1;
    for (int i = 0; i < MANY; i++)
        pthread_join(many[i], NULL);
    pthread_join(loader, NULL);
    pthread_join(forker, NULL);
    setitimer(ITIMER_REAL, &off, NULL);
    if (done != MANY || loaded != 2 || waited != 3)
        return 1;
    pthread_create(&last, NULL, replaces, argv[0]);
    pthread_join(last, NULL);
    return 1;
}
#endif
