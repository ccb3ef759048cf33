// GAsyncQueue, g_once, atomic reference counts, GMutex and GCond, a pool of threads, bit locks.
#include <glib.h>

static GAsyncQueue *queue;
static GMutex mutex;
static GCond changed;
static int ready, made, bits, counted, pooled;
static gsize once;

static void make(void) {
    if (g_once_init_enter(&once)) {
        made++;
        g_once_init_leave(&once, 1);
    }
}

static void *other(gpointer box) {
    make();
    g_async_queue_push(queue, GINT_TO_POINTER(1));
    g_mutex_lock(&mutex);
    ready = 1;
    g_cond_signal(&changed);
    g_mutex_unlock(&mutex);
    g_bit_lock(&bits, 0);
    counted++;
    g_bit_unlock(&bits, 0);
    g_atomic_rc_box_release(box);
    return NULL;
}

static void in_pool(gpointer data, gpointer user) {
    (void)user;
    g_atomic_int_add(&pooled, GPOINTER_TO_INT(data));
}

int main(void) {
    queue = g_async_queue_new();
    int *box = g_atomic_rc_box_new0(int);
    GThreadPool *pool = g_thread_pool_new(in_pool, NULL, 1, TRUE, NULL);
    GThread *thread = g_thread_new("other", other, g_atomic_rc_box_acquire(box));
    g_thread_pool_push(pool, GINT_TO_POINTER(3), NULL);
    make();
    g_assert_cmpint(GPOINTER_TO_INT(g_async_queue_pop(queue)), ==, 1);
    g_mutex_lock(&mutex);
    while (!ready)
        g_cond_wait(&changed, &mutex);
    g_mutex_unlock(&mutex);
    g_bit_lock(&bits, 0);
    counted++;
    g_bit_unlock(&bits, 0);
    g_atomic_rc_box_release(box);
    g_thread_join(thread);
    g_thread_pool_free(pool, FALSE, TRUE);
    g_assert_cmpint(made, ==, 1);
    g_assert_cmpint(counted, ==, 2);
    g_assert_cmpint(pooled, ==, 3);
    g_async_queue_unref(queue);
    return 0;
}
