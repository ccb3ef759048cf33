// Two counters that nobody protects, each shared by two threads of its own, and read in several places.
// Wrong: always, for two reasons.
// Expect: race
#include <pthread.h>

static int apples;
static int pears;

static void pick(void) {
    apples += 1;
}

static void *farmer(void *unused) {
    pick();
    apples *= 2;
    return unused;
}

static void *thief(void *unused) {
    apples = 0;
    return unused;
}

static void *gardener(void *unused) {
    pears += 1;
    return unused;
}

static void *bird(void *unused) {
    pears -= 1;
    return unused;
}

int main(void) {
    pthread_t threads[4];
    void *(*roles[4])(void *) = {farmer, thief, gardener, bird};
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, roles[i], 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    return apples + pears > 1000;
}
