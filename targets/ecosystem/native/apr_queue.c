// A queue and a pool of threads.
#include <apr_general.h>
#include <apr_queue.h>
#include <apr_thread_pool.h>
#include <assert.h>

static apr_queue_t *queue;
static int numbers[2] = {1, 2};

static void *APR_THREAD_FUNC push(apr_thread_t *thread, void *number) {
    (void)thread;
    assert(apr_queue_push(queue, number) == APR_SUCCESS);
    return NULL;
}

int main(void) {
    apr_initialize();
    apr_pool_t *memory;
    apr_pool_create(&memory, NULL);
    apr_queue_create(&queue, 1, memory);
    apr_thread_pool_t *pool;
    apr_thread_pool_create(&pool, 2, 2, memory);
    for (int i = 0; i < 2; i++)
        apr_thread_pool_push(pool, push, &numbers[i], APR_THREAD_TASK_PRIORITY_NORMAL, NULL);
    int sum = 0;
    for (int i = 0; i < 2; i++) {
        void *number;
        assert(apr_queue_pop(queue, &number) == APR_SUCCESS);
        sum += *(int *)number;
    }
    assert(sum == 3);
    apr_thread_pool_destroy(pool);
    apr_pool_destroy(memory);
    apr_terminate();
    return 0;
}
