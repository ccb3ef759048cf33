// Userspace RCU: wait-free and lock-free queues and stacks, in the flavour that -DRCU_… chooses.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include URCU
#include <urcu/rculfqueue.h>
#include <urcu/wfcqueue.h>
#include <urcu/wfstack.h>

struct item {
    int value;
    struct cds_wfcq_node queue;
    struct cds_wfs_node stack;
    struct cds_lfq_node_rcu lfq;
    struct rcu_head head;
};

static struct cds_wfcq_head head;
static struct cds_wfcq_tail tail;
static struct cds_wfs_stack stack;
static struct cds_lfq_queue_rcu lfq;

static struct item *item(int value) {
    struct item *item = calloc(1, sizeof *item);
    item->value = value;
    cds_wfcq_node_init(&item->queue);
    cds_wfs_node_init(&item->stack);
    cds_lfq_node_init_rcu(&item->lfq);
    return item;
}

static void *other(void *arg) {
    (void)arg;
    rcu_register_thread();
    cds_wfcq_enqueue(&head, &tail, &item(1)->queue);
    cds_wfs_push(&stack, &item(10)->stack);
    rcu_read_lock();
    cds_lfq_enqueue_rcu(&lfq, &item(100)->lfq);
    rcu_read_unlock();
    rcu_unregister_thread();
    return NULL;
}

static int sum;

static void take(void) {
    struct cds_wfcq_node *queued = __cds_wfcq_dequeue_blocking(&head, &tail);
    if (queued)
        sum += caa_container_of(queued, struct item, queue)->value;
    struct cds_wfs_node *pushed = cds_wfs_pop_blocking(&stack);
    if (pushed)
        sum += caa_container_of(pushed, struct item, stack)->value;
    rcu_read_lock();
    struct cds_lfq_node_rcu *node = cds_lfq_dequeue_rcu(&lfq);
    rcu_read_unlock();
    if (node)
        sum += caa_container_of(node, struct item, lfq)->value;
}

int main(void) {
    rcu_register_thread();
    cds_wfcq_init(&head, &tail);
    cds_wfs_init(&stack);
    cds_lfq_init_rcu(&lfq, call_rcu);
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    take();
    pthread_join(thread, NULL);
    take();
    assert(sum == 111);
    rcu_unregister_thread();
    return 0;
}
