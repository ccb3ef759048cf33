// Atomic accesses and fences in the arguments of macros, and orders that macros put together.
// Wrong: nothing orders the flag.
// Unsettled: yes
// Values PUBLISH: DO(shared.data = 1; FENCE(release); SET(&shared.flag, relaxed);) | CHECK((shared.data = 1, SET(&shared.flag, release), 1)) | shared.data = 1; WMB(); SET(&shared.flag, relaxed);
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#define ORDER(o) memory_order_##o
#define FENCE(o) atomic_thread_fence(ORDER(o)) //= right
#define FENCE(o) do { } while (0) //= wrong
#define WMB() FENCE(release)
#define GET(p, o) atomic_load_explicit((p), ORDER(o))
#define SET(p, o) atomic_store_explicit((p), 1, ORDER(o)) //= right
#define SET(p, o) atomic_store_explicit((p), 1, ORDER(relaxed)) //= wrong
#define DO(...) do { __VA_ARGS__ } while (0)
#define CHECK(x) ((x) ? 1 : 0)
#define MAX(a, b) ((a) > (b) ? (a) : (b))

static struct { int data; atomic_int flag; } shared;

static void *writer(void *unused) {
    (void)unused;
    PUBLISH;
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    while (MAX(GET(&shared.flag, acquire), 0) == 0) {
        sched_yield();
    }
    assert(CHECK(shared.data == 1));
    pthread_join(thread, NULL);
    return 0;
}
