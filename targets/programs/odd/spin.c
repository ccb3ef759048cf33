// pthread's spin lock, which never enters the kernel.
// Wrong: one thread does not take it. Right: both do.
// Expect: race
#include <pthread.h>
#include <stddef.h>

static pthread_spinlock_t lock;
static int counter;

static void *careful(void *unused) {
    pthread_spin_lock(&lock);
    counter += 1;
    pthread_spin_unlock(&lock);
    return unused;
}

static void *careless(void *unused) {
#ifdef BUGGY
    counter += 1;
#else
    while (pthread_spin_trylock(&lock) != 0) {
    }
    counter += 1;
    pthread_spin_unlock(&lock);
#endif
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&a, NULL, careful, NULL);
    pthread_create(&b, NULL, careless, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return counter != 2;
}
