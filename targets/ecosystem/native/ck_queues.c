// Concurrency Kit: a stack, a queue of one producer and one consumer, a reader-writer lock, a barrier.
#include <assert.h>
#include <ck_barrier.h>
#include <ck_fifo.h>
#include <ck_rwlock.h>
#include <ck_stack.h>
#include <pthread.h>
#include <stdlib.h>

struct item {
    int value;
    ck_stack_entry_t link;
};
CK_STACK_CONTAINER(struct item, link, item_of)

static ck_stack_t stack = CK_STACK_INITIALIZER;
static ck_fifo_spsc_t fifo;
static ck_rwlock_t lock = CK_RWLOCK_INITIALIZER;
static ck_barrier_centralized_t barrier = CK_BARRIER_CENTRALIZED_INITIALIZER;
static int both[2];
static int numbers[2] = {1, 2};

static void *other(void *arg) {
    (void)arg;
    struct item *item = malloc(sizeof *item);
    item->value = 10;
    ck_stack_push_upmc(&stack, &item->link);
    for (int i = 0; i < 2; i++)
        ck_fifo_spsc_enqueue(&fifo, malloc(sizeof(ck_fifo_spsc_entry_t)), &numbers[i]);
    ck_rwlock_write_lock(&lock);
    both[0] = both[1] = 1;
    ck_rwlock_write_unlock(&lock);
    ck_barrier_centralized_state_t state = CK_BARRIER_CENTRALIZED_STATE_INITIALIZER;
    ck_barrier_centralized(&barrier, &state, 2);
    return NULL;
}

int main(void) {
    ck_fifo_spsc_init(&fifo, malloc(sizeof(ck_fifo_spsc_entry_t)));
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    ck_rwlock_read_lock(&lock);
    assert(both[0] == both[1]);
    ck_rwlock_read_unlock(&lock);
    int *number, last = 0;
    while (ck_fifo_spsc_dequeue(&fifo, &number)) {
        assert(*number == last + 1);
        last = *number;
    }
    ck_barrier_centralized_state_t state = CK_BARRIER_CENTRALIZED_STATE_INITIALIZER;
    ck_barrier_centralized(&barrier, &state, 2);
    ck_stack_entry_t *entry = ck_stack_pop_upmc(&stack);
    assert(entry && item_of(entry)->value == 10);
    pthread_join(thread, NULL);
    return 0;
}
