/* ck_sequence: a sequence lock. A reader that is not told to try again has seen both halves of one update. */
#include "check.h"
#include <ck_pr.h>
#include <ck_sequence.h>

static ck_sequence_t lock = CK_SEQUENCE_INITIALIZER;
static unsigned a, b;

static void *write_both(void *argument) {
    (void)argument;
    for (unsigned value = 1; value <= 2; value++) {
        ck_sequence_write_begin(&lock);
        ck_pr_store_uint(&a, value);
        ck_pr_store_uint(&b, value);
        ck_sequence_write_end(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t thread = start(write_both, NULL);
    for (int i = 0; i < 2; i++) {
        unsigned version, seen_a, seen_b;
        do {
            version = ck_sequence_read_begin(&lock);
            seen_a = ck_pr_load_uint(&a);
            seen_b = ck_pr_load_uint(&b);
        } while (ck_sequence_read_retry(&lock, version));
        CHECK(seen_a == seen_b);
    }
    join(thread);
    return 0;
}
