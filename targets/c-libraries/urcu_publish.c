/* liburcu: a pointer is published, read inside of a read-side section, replaced, and the old object freed after
 * synchronize_rcu(). */
#include "check.h"
#include <urcu.h>

struct object {
    unsigned x, y;
};

static struct object *current;

static struct object *object(unsigned value) {
    struct object *made = malloc(sizeof *made);
    CHECK(made != NULL);
    made->x = made->y = value;
    return made;
}

static void *read_it(void *argument) {
    (void)argument;
    rcu_register_thread();
    for (int i = 0; i < 2; i++) {
        rcu_read_lock();
        struct object *seen = rcu_dereference(current);
        CHECK(seen->x == seen->y);
        rcu_read_unlock();
    }
    rcu_unregister_thread();
    return NULL;
}

int main(void) {
    rcu_register_thread();
    current = object(1);
    pthread_t thread = start(read_it, NULL);
    struct object *old = current;
    rcu_assign_pointer(current, object(2));
    synchronize_rcu();
    free(old);
    join(thread);
    free(current);
    rcu_unregister_thread();
    return 0;
}
