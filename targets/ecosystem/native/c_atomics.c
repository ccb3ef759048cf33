// _Atomic objects by assignment and operators, all sequentially consistent, on fresh memory.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct shared {
    _Atomic int flag[2], turn;
    _Atomic long count;
    int data;
};

// Peterson's lock.
static void work(struct shared *s, int me) {
    s->flag[me] = 1;
    s->turn = !me;
    while (s->flag[!me] && s->turn == !me)
        ;
    s->data++;
    s->flag[me] = 0;
    s->count += 1;
}

static void *other(void *arg) {
    work(arg, 1);
    return NULL;
}

int main(void) {
    struct shared *s = malloc(sizeof *s);
    s->flag[0] = 0;
    s->flag[1] = 0;
    s->turn = 0;
    s->count = 0;
    s->data = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, other, s);
    work(s, 0);
    pthread_join(thread, NULL);
    assert(s->count == 2 && s->data == 2);
    free(s);
    return 0;
}
