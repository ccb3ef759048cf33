// Two threads pass a value on through volatile variables: a static one, and a member of a structure. Volatile orders nothing.
// With an argument: one side is not volatile. Wrong: it races.
// Expect: race
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct box {
    int other;
    volatile int value;
};

static volatile int flag;
static int plain;
static struct box *box;
#ifndef BUGGY
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
#define ENTER pthread_mutex_lock(&mutex)
#define LEAVE pthread_mutex_unlock(&mutex)
#else
#define ENTER (void)0
#define LEAVE (void)0
#endif

static int which;

static void *worker(void *unused) {
    ENTER;
    if (which == 1)
        flag = 1;
    else if (which == 2)
        box->value = 1;
    else
        plain = 1;
    LEAVE;
    return unused;
}

int main(int count, char **words) {
    which = count > 1 ? atoi(words[1]) : 1;
    box = calloc(1, sizeof *box);
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    int seen;
    ENTER;
    if (which == 1)
        seen = flag;
    else if (which == 2)
        seen = box->value;
    else
        seen = *(volatile int *)&plain;
    LEAVE;
    pthread_join(thread, NULL);
    return seen > 1;
}
