/* ck_spinlock: a plain counter under each of the library's locks. LOCK says which: fas, cas, dec, ticket, mcs or clh. */
#include "check.h"
#include <ck_pr.h>
#include <ck_spinlock.h>

enum { ROUNDS = 2 };
static unsigned counter;

#define fas 1
#define cas 2
#define dec 3
#define ticket 4
#define mcs 5
#define clh 6

#if LOCK == mcs
static ck_spinlock_mcs_t lock = CK_SPINLOCK_MCS_INITIALIZER;
#define ACQUIRE(node) ck_spinlock_mcs_lock(&lock, &(node))
#define RELEASE(node) ck_spinlock_mcs_unlock(&lock, &(node))
typedef ck_spinlock_mcs_context_t node_t;
#elif LOCK == fas
static ck_spinlock_fas_t lock = CK_SPINLOCK_FAS_INITIALIZER;
#define ACQUIRE(node) ck_spinlock_fas_lock(&lock)
#define RELEASE(node) ck_spinlock_fas_unlock(&lock)
typedef int node_t;
#elif LOCK == cas
static ck_spinlock_cas_t lock = CK_SPINLOCK_CAS_INITIALIZER;
#define ACQUIRE(node) ck_spinlock_cas_lock(&lock)
#define RELEASE(node) ck_spinlock_cas_unlock(&lock)
typedef int node_t;
#elif LOCK == dec
static ck_spinlock_dec_t lock = CK_SPINLOCK_DEC_INITIALIZER;
#define ACQUIRE(node) ck_spinlock_dec_lock(&lock)
#define RELEASE(node) ck_spinlock_dec_unlock(&lock)
typedef int node_t;
#elif LOCK == ticket
static ck_spinlock_ticket_t lock = CK_SPINLOCK_TICKET_INITIALIZER;
#define ACQUIRE(node) ck_spinlock_ticket_lock(&lock)
#define RELEASE(node) ck_spinlock_ticket_unlock(&lock)
typedef int node_t;
#elif LOCK == clh
static ck_spinlock_clh_t first, *lock;
#define ACQUIRE(node) ck_spinlock_clh_lock(&lock, node)
#define RELEASE(node) ck_spinlock_clh_unlock(&node)
typedef ck_spinlock_clh_t *node_t;
#endif

static void *count(void *argument) {
#if LOCK == clh
    node_t node = argument;
#elif LOCK == mcs
    node_t node;
    (void)argument;
#else
    (void)argument;
#endif
    for (int i = 0; i < ROUNDS; i++) {
        ACQUIRE(node);
        counter++;
        RELEASE(node);
    }
    return NULL;
}

int main(void) {
    void *nodes[2] = {NULL, NULL};
#if LOCK == clh
    static ck_spinlock_clh_t own[2];
    ck_spinlock_clh_init(&lock, &first);
    nodes[0] = &own[0];
    nodes[1] = &own[1];
#endif
    pthread_t thread = start(count, nodes[0]);
    count(nodes[1]);
    join(thread);
    CHECK(counter == 2 * ROUNDS);
    return 0;
}
