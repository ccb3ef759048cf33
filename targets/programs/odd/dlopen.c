// Loads a plugin while threads run; both threads call into it. Compiled twice: with -DPLUGIN as the shared object.
// Wrong: the plugin counts in a plain variable. Right: in an atomic one.
// Plugin: yes
// Expect: race
#include <stdatomic.h>

#ifdef PLUGIN
#ifdef BUGGY
static int calls;
#else
static atomic_int calls;
#endif
int count(void);
int count(void) {
    calls += 1;
    return calls;
}
#else
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static void *work(void *path) {
    void *plugin = dlopen(path, RTLD_NOW);
    int (*count)(void);
    if (!plugin)
        return path;
    *(void **)&count = dlsym(plugin, "count");
    if (!count || count() < 1)
        return path;
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread;
    void *failed;
    if (argc != 2)
        return 1;
    pthread_create(&thread, NULL, work, argv[1]);
    void *mine = work(argv[1]);
    pthread_join(thread, &failed);
    return mine != NULL || failed != NULL;
}
#endif
