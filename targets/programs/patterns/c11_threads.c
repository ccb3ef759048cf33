// C11's own threads: mtx, cnd, call_once, tss.
// Wrong: the consumer reads the value without the mutex. Right: with it.
// Expect: race
#include <stddef.h>
#include <threads.h>

static mtx_t lock;
static cnd_t changed;
static once_flag once = ONCE_FLAG_INIT;
static tss_t key;
static int value, made;

static void make(void) {
    made += 1;
    tss_create(&key, NULL);
}

static int producer(void *unused) {
    (void)unused;
    call_once(&once, make);
    tss_set(key, &made);
    mtx_lock(&lock);
    value = 42;
    cnd_signal(&changed);
    mtx_unlock(&lock);
    return tss_get(key) != &made;
}

static int consumer(void *unused) {
    (void)unused;
    call_once(&once, make);
#ifdef BUGGY
    return value != 42 && value != 0;
#else
    mtx_lock(&lock);
    while (value == 0)
        cnd_wait(&changed, &lock);
    int wrong = value != 42 || tss_get(key) != NULL;
    mtx_unlock(&lock);
    return wrong;
#endif
}

int main(void) {
    thrd_t a, b;
    int wrong_a, wrong_b;
    mtx_init(&lock, mtx_plain);
    cnd_init(&changed);
    thrd_create(&a, consumer, NULL);
    thrd_create(&b, producer, NULL);
    thrd_join(a, &wrong_a);
    thrd_join(b, &wrong_b);
    return wrong_a || wrong_b || made != 1;
}
