// A reference count as C programs have it: a release decrement, and an acquire fence before the last one frees.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct object {
    atomic_int references;
    int value[2];
};

static void drop(struct object *object) {
    if (atomic_fetch_sub_explicit(&object->references, 1, memory_order_release) == 1) {
        atomic_thread_fence(memory_order_acquire);
        assert(object->value[0] == 1 && object->value[1] == 2);
        free(object);
    }
}

static void *one(void *arg) {
    struct object *object = arg;
    object->value[0] = 1;
    drop(object);
    return NULL;
}

static void *two(void *arg) {
    struct object *object = arg;
    object->value[1] = 2;
    drop(object);
    return NULL;
}

int main(void) {
    struct object *object = malloc(sizeof *object);
    atomic_init(&object->references, 2);
    pthread_t a, b;
    pthread_create(&a, NULL, one, object);
    pthread_create(&b, NULL, two, object);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
