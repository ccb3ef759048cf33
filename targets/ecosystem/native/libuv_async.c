// A loop that another thread wakes, work in the pool, and a semaphore.
#include <assert.h>
#include <stdlib.h>
#include <uv.h>

static uv_async_t async;
static uv_sem_t sem;
static int sent, received, worked, after;

static void on_async(uv_async_t *handle) {
    received = sent;
    uv_close((uv_handle_t *)handle, NULL);
}

static void work(uv_work_t *request) {
    (void)request;
    worked = 1;
}

static void after_work(uv_work_t *request, int status) {
    (void)request;
    assert(status == 0);
    after = worked;
}

static void other(void *arg) {
    (void)arg;
    sent = 1;
    uv_async_send(&async);
    uv_sem_post(&sem);
}

int main(void) {
    setenv("UV_THREADPOOL_SIZE", "1", 1);
    uv_loop_t *loop = uv_default_loop();
    uv_sem_init(&sem, 0);
    uv_async_init(loop, &async, on_async);
    uv_work_t request;
    uv_queue_work(loop, &request, work, after_work);
    uv_thread_t thread;
    uv_thread_create(&thread, other, NULL);
    uv_run(loop, UV_RUN_DEFAULT);
    uv_sem_wait(&sem);
    uv_thread_join(&thread);
    assert(received == 1 && after == 1);
    uv_loop_close(loop);
    return 0;
}
