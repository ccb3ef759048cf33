// Calls on a stack that another thread has looked at, direct ones and through a pointer in memory: what they load and
// what they push is the model's business then.
// Expect: clean
// Options: --model pso
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct operations {
    int (*add)(int);
};

static _Atomic(unsigned char *) shown;
static atomic_int looked;
static int sum;

static void *looks(void *unused) {
    (void)unused;
    unsigned char *room;
    while ((room = atomic_load(&shown)) == NULL) {
    }
    for (int i = 0; i < 512; i += 8)
        sum += room[i];
    atomic_store(&looked, 1);
    return NULL;
}

static __attribute__((noinline)) void shows(void) {
    unsigned char room[512];
    for (int i = 0; i < 512; i++)
        room[i] = 1;
    atomic_store(&shown, room);
    while (!atomic_load(&looked)) {
    }
}

static __attribute__((noinline)) int adds(int to) {
    __asm__ volatile("");
    return to + 1;
}

static __attribute__((noinline)) int calls(const struct operations *operations) {
    int value = 0;
    for (int i = 0; i < 3; i++) {
        value = adds(value);
        value = operations->add(value) + 1;
    }
    return value;
}

int main(void) {
    static struct operations operations = {adds};
    struct operations *volatile which = &operations;
    pthread_t thread;
    pthread_create(&thread, NULL, looks, NULL);
    shows();
    assert(calls(which) == 9);
    pthread_join(thread, NULL);
    assert(sum == 64);
    return 0;
}
