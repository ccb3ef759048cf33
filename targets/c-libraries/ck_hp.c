/* ck_hp: a reader protects what it uses by a hazard pointer; the writer retires the old object, which is freed when
 * nobody points at it. */
#include "check.h"
#include <ck_hp.h>
#include <ck_pr.h>

struct object {
    ck_hp_hazard_t hazard;
    unsigned x, y;
};

static ck_hp_t hazards;
static ck_hp_record_t records[2];
static void *slots[2][1];
static struct object *current;
static int done;

static void destroy(void *object) { free(object); }

static struct object *object(unsigned value) {
    struct object *made = malloc(sizeof *made);
    CHECK(made != NULL);
    made->x = made->y = value;
    return made;
}

static void *read_it(void *argument) {
    (void)argument;
    for (int i = 0; i < 2; i++) {
        struct object *seen;
        do {
            seen = ck_pr_load_ptr(&current);
            ck_hp_set_fence(&records[0], 0, seen);
        } while (ck_pr_load_ptr(&current) != seen);
        CHECK(seen->x == seen->y);
        ck_hp_set(&records[0], 0, NULL);
    }
    ck_pr_fence_release();
    ck_pr_store_int(&done, 1);
    return NULL;
}

int main(void) {
    ck_hp_init(&hazards, 1, 1, destroy);
    ck_hp_register(&hazards, &records[0], slots[0]);
    ck_hp_register(&hazards, &records[1], slots[1]);
    current = object(1);
    pthread_t thread = start(read_it, NULL);
    struct object *old = current, *new = object(2);
    ck_pr_fence_store();
    ck_pr_store_ptr(&current, new);
    ck_pr_fence_memory();
    ck_hp_free(&records[1], &old->hazard, old, old);
    join(thread);
    CHECK(ck_pr_load_int(&done) == 1);
    ck_hp_purge(&records[1]);
    free(current);
    return 0;
}
