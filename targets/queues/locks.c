/* Concurrency Kit as Debian packages it: its operations are inline assembly, and so in no debug information. */
#include <ck_pr.h>
#include <ck_ring.h>
#include <ck_spinlock.h>

static ck_spinlock_t lock = CK_SPINLOCK_INITIALIZER;
static unsigned counter;
static ck_ring_t ring;
static ck_ring_buffer_t slots[16];

unsigned locked(void) {
    ck_spinlock_lock(&lock);
    unsigned value = counter++;
    ck_spinlock_unlock(&lock);
    return value;
}

unsigned added(void) { return ck_pr_faa_uint(&counter, 1); }

void *passed(void *value) {
    void *result = 0;
    ck_ring_init(&ring, 16);
    ck_ring_enqueue_mpmc(&ring, slots, value);
    ck_ring_dequeue_mpmc(&ring, slots, &result);
    return result;
}
