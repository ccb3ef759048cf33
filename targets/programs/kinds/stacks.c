// Variables on the stacks of other threads, used while they are there and afterwards; the first argument says which.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <string.h>
#include <ucontext.h>

static atomic_int *_Atomic shared;
static sem_t told, used;

__attribute__((noinline)) static void publishes(int leaves) {
    atomic_int here = 1;
    atomic_store(&shared, &here);
    if (!leaves) {
        sem_post(&told);
        sem_wait(&used);
    }
    atomic_fetch_add(&here, 1);
}

__attribute__((noinline)) static void deep(int depth) {
    volatile char room[512];
    room[0] = (char)depth;
    if (depth)
        deep(depth - 1);
    else
        publishes(1);
    room[1] = room[0];
}

static void *returns(void *unused) {
    deep(2);
    sem_post(&told);
    sem_wait(&used);
    return unused;
}

static void *ends(void *unused) {
    deep(2);
    return unused;
}

static void *stays(void *unused) {
    publishes(0);
    return unused;
}

static void *looks(void *unused) {
    sem_wait(&told);
    atomic_load(atomic_load(&shared));
    sem_post(&used);
    return unused;
}

__attribute__((noinline)) static void no_value(int writes) {
    atomic_int here;
    if (writes)
        atomic_init(&here, 1);
    atomic_store(&shared, &here);
    sem_post(&told);
    sem_wait(&used);
}

static void *unwritten(void *unused) {
    no_value(0);
    return unused;
}

static void *written(void *unused) {
    no_value(1);
    return unused;
}

/* A context whose stack is a variable, above another variable that stays in use. */
static ucontext_t outside, inside;

static void in_context(void) {
    sem_post(&told);
    sem_wait(&used);
}

static void *switches(void *unused) {
    struct {
        atomic_int below;
        char stack[32768];
    } here;
    atomic_init(&here.below, 1);
    atomic_store(&shared, &here.below);
    getcontext(&inside);
    inside.uc_stack.ss_sp = here.stack;
    inside.uc_stack.ss_size = sizeof here.stack;
    inside.uc_link = &outside;
    makecontext(&inside, in_context, 0);
    swapcontext(&outside, &inside);
    return unused;
}

static jmp_buf back;

__attribute__((noinline)) static void jumps(int depth) {
    volatile char room[256];
    room[0] = (char)depth;
    if (!depth)
        longjmp(back, 1);
    jumps(depth - 1);
    room[1] = room[0];
}

static void *leaves(void *unused) {
    atomic_int here = 1;
    if (!setjmp(back))
        jumps(4);
    atomic_store(&shared, &here);
    sem_post(&told);
    sem_wait(&used);
    return unused;
}

int main(int argc, char **argv) {
    const char *want = argc > 1 ? argv[1] : "";
    pthread_t t, u;
    sem_init(&told, 0, 0);
    sem_init(&used, 0, 0);
    void *(*owner)(void *) = !strcmp(want, "returned")        ? returns
                             : !strcmp(want, "right stays")    ? stays
                             : !strcmp(want, "unwritten")      ? unwritten
                             : !strcmp(want, "right written")  ? written
                             : !strcmp(want, "right switches") ? switches
                             : !strcmp(want, "right leaves")   ? leaves
                                                               : NULL;
    if (!strcmp(want, "ended")) {
        pthread_create(&t, NULL, ends, NULL);
        pthread_create(&u, NULL, looks, NULL);
        pthread_join(t, NULL);
        sem_post(&told);
        pthread_join(u, NULL);
        return 0;
    }
    if (!strcmp(want, "right exit")) {
        atomic_int here = 1;
        atomic_store(&shared, &here);
        sem_post(&told);
        pthread_create(&u, NULL, looks, NULL);
        pthread_exit(NULL);
    }
    if (!owner)
        return 9;
    pthread_create(&t, NULL, owner, NULL);
    pthread_create(&u, NULL, looks, NULL);
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    return 0;
}
