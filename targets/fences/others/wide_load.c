// Loads that are wider than what the source reads: vectors with what lies between the elements of a loop.
// Wrong: the other thread writes what is read. As the load may be too wide, its race may be only possible.
// Unsettled: yes
// Values WRITTEN: val | val | other
// Values KEYS: keys(r) | marked(r) | pairs(r)
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

struct record {
    int key, val;
    int other, more;
};
static struct record r[32];

__attribute__((noinline)) int keys(const struct record *it) {
    int sum = 0;
    for (int i = 0; i < 32; i++) {
        sum += it[i].key;
    }
    return sum;
}

__attribute__((noinline)) int marked(const struct record *it) {
    int count = 0;
    for (int i = 0; i < 32; i++) {
        count += it[i].key == 1;
    }
    return count;
}

__attribute__((noinline)) int pairs(const struct record *it) {
    int sum = 0;
    for (int i = 0; i < 32; i++) {
        sum += it[i].key | it[i].more;
    }
    return sum;
}

static void *writer(void *unused) {
    (void)unused;
    for (int i = 0; i < 32; i++) {
        r[i].WRITTEN = i; //= right
        r[i].key = 1; //= wrong
    }
    return NULL;
}

static void *reader(void *unused) {
    (void)unused;
    assert(KEYS == 32);
    return NULL;
}

int main(void) {
    for (int i = 0; i < 32; i++) {
        r[i].key = 1;
    }
    pthread_t a, b;
    pthread_create(&a, NULL, writer, NULL);
    pthread_create(&b, NULL, reader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
