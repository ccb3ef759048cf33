// `_Atomic` objects that operators access: members, through pointers, casts and results of functions. DWARF 4 has no word
// for the type.
// Wrong: the payload is written after the flag.
// Values FLAG: shared.flag | *where() | *(_Atomic int *)((char *)&shared + offsetof(struct shared, flag)) | pointer->flag | state
// Values G: -g | -gdwarf-4 | -gdwarf-4 | -g | -gdwarf-4
// Flags: G
// Unsettled: yes
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

typedef _Atomic int counter;
struct shared { int data; counter flag; };
static struct shared shared, *pointer = &shared;
static _Atomic enum { NO, YES } state;

static counter *where(void) {
    return &shared.flag;
}

static void *writer(void *unused) {
    (void)unused;
    shared.data = 1; //= right
    FLAG = 1;
    shared.data = 1; //= wrong
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    while (FLAG == 0) {
        sched_yield();
    }
    int seen = shared.data;
    assert(seen == 1);
    pthread_join(thread, NULL);
    (void)where;
    (void)state;
    (void)pointer;
    return 0;
}
