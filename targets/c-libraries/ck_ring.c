/* ck_ring: messages with plain contents, through the ring for one producer and one consumer (SPSC), and the one for
 * several of both. What is taken must be whole, in order, and nobody's twice. */
#include "check.h"
#include <ck_pr.h>
#include <ck_ring.h>

enum { MESSAGES = 3, SIZE = 4 };

struct message {
    unsigned producer, number;
};

static ck_ring_t ring;
static ck_ring_buffer_t slots[SIZE];
static unsigned taken[2][MESSAGES];

static void *produce(void *argument) {
    unsigned producer = (unsigned)(size_t)argument;
    for (unsigned number = 0; number < MESSAGES; number++) {
        struct message *message = malloc(sizeof *message);
        CHECK(message != NULL);
        message->producer = producer;
        message->number = number;
#ifdef MPMC
        while (!ck_ring_enqueue_mpmc(&ring, slots, message)) ck_pr_stall();
#else
        while (!ck_ring_enqueue_spsc(&ring, slots, message)) ck_pr_stall();
#endif
    }
    return NULL;
}

static void consume(unsigned producers) {
    unsigned next[2] = {0, 0};
    for (unsigned i = 0; i < producers * MESSAGES; i++) {
        void *found = NULL;
#ifdef MPMC
        while (!ck_ring_dequeue_mpmc(&ring, slots, &found)) ck_pr_stall();
#else
        while (!ck_ring_dequeue_spsc(&ring, slots, &found)) ck_pr_stall();
#endif
        struct message *message = found;
        CHECK(message->number == next[message->producer]++);
        taken[message->producer][message->number]++;
        free(message);
    }
}

int main(void) {
    ck_ring_init(&ring, SIZE);
    unsigned producers = 1;
    pthread_t first = start(produce, (void *)0);
#ifdef MPMC
    producers = 2;
    pthread_t second = start(produce, (void *)1);
#endif
    consume(producers);
    join(first);
#ifdef MPMC
    join(second);
#endif
    for (unsigned producer = 0; producer < producers; producer++)
        for (unsigned number = 0; number < MESSAGES; number++) CHECK(taken[producer][number] == 1);
    return 0;
}
