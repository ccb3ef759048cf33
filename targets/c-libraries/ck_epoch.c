/* ck_epoch: a reader uses an object inside of a section; the writer replaces it, and frees the old one after a grace
 * period. */
#include "check.h"
#include <ck_epoch.h>
#include <ck_pr.h>

struct object {
    unsigned x, y;
};

static ck_epoch_t epoch;
static ck_epoch_record_t records[2];
static struct object *current;

static struct object *object(unsigned value) {
    struct object *made = malloc(sizeof *made);
    CHECK(made != NULL);
    made->x = made->y = value;
    return made;
}

static void *read_it(void *argument) {
    (void)argument;
    ck_epoch_register(&epoch, &records[0], NULL);
    for (int i = 0; i < 2; i++) {
        ck_epoch_section_t section;
        ck_epoch_begin(&records[0], &section);
        struct object *seen = ck_pr_load_ptr(&current);
        CHECK(seen->x == seen->y);
        ck_epoch_end(&records[0], &section);
    }
    ck_epoch_unregister(&records[0]);
    return NULL;
}

int main(void) {
    ck_epoch_init(&epoch);
    ck_epoch_register(&epoch, &records[1], NULL);
    current = object(1);
    pthread_t thread = start(read_it, NULL);
    struct object *old = current, *new = object(2);
    ck_pr_fence_store();
    ck_pr_store_ptr(&current, new);
    ck_epoch_synchronize(&records[1]);
    free(old);
    join(thread);
    free(current);
    return 0;
}
