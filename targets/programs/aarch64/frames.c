// What handlers of signals see of the thread that they interrupt: where it is and who called, whatever it is doing: an
// access that faults and is made again, a loop, a signal to itself, a system call that is interrupted or begins anew.
// Expect: clean
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#define APART __attribute__((noinline, noclone))

// No function of this file is longer, and each begins a line of its own.
enum { LONGEST = 400 };

static _Atomic(void *) expected;
static atomic_int handled, seen_at, seen_above, spinning, *page;
static int channel[2];

static int is_in(uintptr_t at, void *function) {
    return at >= (uintptr_t)function && at < (uintptr_t)function + LONGEST;
}

static _Unwind_Reason_Code look(struct _Unwind_Context *frame, void *found) {
    *(int *)found |= is_in(_Unwind_GetIP(frame), atomic_load(&expected));
    return _URC_NO_REASON;
}

static void handler(int signal, siginfo_t *info, void *context) {
    int found = 0;
    ucontext_t *at = context;
    (void)info;
    _Unwind_Backtrace(look, &found);
    atomic_fetch_add(&seen_above, found);
    atomic_fetch_add(&seen_at, is_in(at->uc_mcontext.pc, atomic_load(&expected)));
    atomic_fetch_add(&handled, 1);
    if (signal == SIGSEGV)
        assert(mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0);
}

APART static void faults(void) {
    atomic_store(&expected, (void *)faults);
    assert(atomic_load(page) == 37);
    assert(atomic_fetch_add(page, 5) == 37);
}

APART static void *spins(void *unused) {
    atomic_store(&spinning, 1);
    while (atomic_load(&handled) < 2) {
    }
    return unused;
}

APART static void *raises(void *unused) {
    atomic_store(&expected, (void *)raises);
    assert(raise(SIGUSR1) == 0);
    assert(atomic_load(&handled) == 3);
    return unused;
}

APART static void *waits(void *unused) {
    char byte;
    atomic_store(&expected, (void *)waits);
    assert(read(channel[0], &byte, 1) == -1 && errno == EINTR);
    assert(read(channel[0], &byte, 1) == 1 && byte == 'x');
    return unused;
}

static void handle(int signal, int flags) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags}, now;
    assert(sigaction(signal, &action, NULL) == 0);
    assert(sigaction(signal, NULL, &now) == 0 && now.sa_sigaction == handler);
}

// A signal for the thread, once it is where it is expected.
static void interrupt(pthread_t thread, int signal, void *where) {
    int before = atomic_load(&handled);
    while (atomic_load(&expected) != where) {
    }
    if (where == (void *)waits)
        usleep(1000);
    pthread_kill(thread, signal);
    while (atomic_load(&handled) == before) {
    }
}

int main(void) {
    pthread_t thread;
    handle(SIGSEGV, 0);
    handle(SIGUSR1, 0);
    handle(SIGUSR2, SA_RESTART);
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(page != MAP_FAILED && pipe(channel) == 0);
    atomic_store(page, 37);
    assert(mprotect(page, 4096, PROT_NONE) == 0);

    pthread_create(&thread, NULL, spins, NULL);
    while (!atomic_load(&spinning)) {
    }
    faults();
    atomic_store(&expected, (void *)spins);
    interrupt(thread, SIGUSR1, (void *)spins);
    pthread_join(thread, NULL);
    assert(atomic_load(&seen_at) == 2);

    pthread_create(&thread, NULL, raises, NULL);
    pthread_join(thread, NULL);

    pthread_create(&thread, NULL, waits, NULL);
    interrupt(thread, SIGUSR1, (void *)waits);
    usleep(1000);
    interrupt(thread, SIGUSR2, (void *)waits);
    usleep(1000);
    assert(write(channel[1], "x", 1) == 1);
    pthread_join(thread, NULL);
    assert(atomic_load(&handled) == 5 && atomic_load(&seen_above) == 5);
    return 0;
}
