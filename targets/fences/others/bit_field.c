// A bit-field that compilers read together with the member behind it.
// Wrong: the member itself is read.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static struct fields { unsigned field : 24; unsigned char member; } shared = {0x111111, 1};
static struct fields *volatile where = &shared;

static void *writer(void *unused) {
    (void)unused;
    struct fields *fields = where;
    fields->member = 5;
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    struct fields *fields = where;
    unsigned seen = fields->field; //= right
    assert(seen == 0x111111); //= right
    unsigned seen = fields->member; //= wrong
    assert(seen != 0); //= wrong
    pthread_join(thread, NULL);
    return 0;
}
