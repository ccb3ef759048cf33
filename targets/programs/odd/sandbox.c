// The program forbids itself all system calls but a few, on pain of death. Those are all that it makes.
// Expect: clean
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ALLOW(call)                                                                                                    \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static atomic_int count;

static void *counts(void *unused) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    count++;
    return unused;
}

int main(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(clock_gettime),
        ALLOW(futex),
        ALLOW(mmap),
        ALLOW(munmap),
        ALLOW(mprotect),
        ALLOW(madvise),
        ALLOW(brk),
        ALLOW(clone),
        ALLOW(clone3),
        ALLOW(set_robust_list),
        ALLOW(set_tid_address),
        ALLOW(rseq),
        ALLOW(rt_sigprocmask),
        ALLOW(rt_sigaction),
        ALLOW(rt_sigreturn),
        ALLOW(getpid),
        ALLOW(gettid),
        ALLOW(getrandom),
        ALLOW(tgkill),
        ALLOW(exit),
        ALLOW(exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    pthread_t thread;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 0; // a kernel without it
    pthread_create(&thread, NULL, counts, NULL);
    counts(NULL);
    pthread_join(thread, NULL);
    return count != 2;
}
