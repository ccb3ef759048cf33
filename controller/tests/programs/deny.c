// Runs a program in a process to which the kernel refuses one system call, as containers' filters do:
// deny CALL EPERM|ENOSYS PROGRAM [ARGS…]
// Of personality only changes are refused, as Docker does: to ask is allowed.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    unsigned number;
} calls[] = {
    {"personality", SYS_personality},         {"memfd_create", SYS_memfd_create}, {"ptrace", SYS_ptrace},
    {"perf_event_open", SYS_perf_event_open}, {"userfaultfd", SYS_userfaultfd},   {"nothing", ~0u},
};

int main(int argc, char **argv) {
    if (argc < 4 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return 99;
    unsigned error = strcmp(argv[2], "ENOSYS") == 0 ? ENOSYS : EPERM;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (strcmp(calls[i].name, argv[1]) != 0)
            continue;
        struct sock_filter filter[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 4),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_personality, 0, 2),
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xffffffff, 1, 0),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
            return 99;
        execv(argv[3], argv + 3);
    }
    return 99;
}
