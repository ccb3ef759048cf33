/* liburcu: a list that is walked while an element is added and another one removed. */
#include "check.h"
#include <urcu.h>
#include <urcu/rculist.h>

struct item {
    struct cds_list_head links;
    unsigned value, copy;
};

static CDS_LIST_HEAD(list);

static struct item *item(unsigned value) {
    struct item *made = malloc(sizeof *made);
    CHECK(made != NULL);
    made->value = made->copy = value;
    return made;
}

static void *walk(void *argument) {
    (void)argument;
    rcu_register_thread();
    rcu_read_lock();
    struct item *each;
    unsigned sum = 0;
    cds_list_for_each_entry_rcu(each, &list, links) {
        CHECK(each->value == each->copy);
        sum += each->value;
    }
    rcu_read_unlock();
    /* 1 is there or gone, 2 always, 4 perhaps. */
    CHECK(sum & 2);
    CHECK(sum <= 7);
    rcu_unregister_thread();
    return NULL;
}

int main(void) {
    rcu_register_thread();
    struct item *first = item(1);
    cds_list_add_rcu(&first->links, &list);
    cds_list_add_rcu(&item(2)->links, &list);
    pthread_t thread = start(walk, NULL);
    cds_list_add_rcu(&item(4)->links, &list);
    cds_list_del_rcu(&first->links);
    synchronize_rcu();
    free(first);
    join(thread);
    rcu_unregister_thread();
    return 0;
}
