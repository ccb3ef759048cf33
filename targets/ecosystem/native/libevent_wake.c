// A loop with locks, whose event another thread makes active.
#include <assert.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>
#include <stddef.h>

static struct event_base *base;
static struct event *event;
static int sent, received;

static void on_event(evutil_socket_t socket, short what, void *arg) {
    (void)socket, (void)what, (void)arg;
    received = sent;
    event_base_loopbreak(base);
}

static void *other(void *arg) {
    (void)arg;
    sent = 1;
    event_active(event, EV_READ, 0);
    return NULL;
}

int main(void) {
    evthread_use_pthreads();
    base = event_base_new();
    event = event_new(base, -1, EV_PERSIST, on_event, NULL);
    event_add(event, NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
    pthread_join(thread, NULL);
    assert(received == 1);
    event_free(event);
    event_base_free(base);
    return 0;
}
