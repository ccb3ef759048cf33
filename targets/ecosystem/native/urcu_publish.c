// A pointer that one thread replaces and another reads, in the flavour that -DURCU chooses.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include URCU

struct pair {
    int first, second;
};

static struct pair *shared;

static struct pair *pair(int value) {
    struct pair *pair = malloc(sizeof *pair);
    pair->first = pair->second = value;
    return pair;
}

static void *reader(void *arg) {
    (void)arg;
    rcu_register_thread();
    for (int i = 0; i < 2; i++) {
        rcu_read_lock();
        struct pair *seen = rcu_dereference(shared);
        assert(seen->first == seen->second);
        rcu_read_unlock();
#ifdef QSBR
        rcu_quiescent_state();
#endif
    }
    rcu_unregister_thread();
    return NULL;
}

int main(void) {
    shared = pair(0);
    pthread_t thread;
    pthread_create(&thread, NULL, reader, NULL);
    for (int i = 1; i <= 2; i++) {
        struct pair *old = rcu_xchg_pointer(&shared, pair(i));
        synchronize_rcu();
        free(old);
    }
    pthread_join(thread, NULL);
    free(shared);
    return 0;
}
