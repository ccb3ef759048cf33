// A loop that another thread wakes with ev_async_send.
#include <assert.h>
#include <ev.h>
#include <pthread.h>
#include <stddef.h>

static struct ev_loop *loop;
static ev_async async;
static int sent, received;

static void on_async(struct ev_loop *loop, ev_async *watcher, int events) {
    (void)watcher, (void)events;
    received = sent;
    ev_break(loop, EVBREAK_ALL);
}

static void *other(void *arg) {
    (void)arg;
    sent = 1;
    ev_async_send(loop, &async);
    return NULL;
}

int main(void) {
    loop = ev_default_loop(EVBACKEND_POLL);
    ev_async_init(&async, on_async);
    ev_async_start(loop, &async);
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    ev_run(loop, 0);
    pthread_join(thread, NULL);
    assert(received == 1);
    return 0;
}
