// What programs expect of files, in a directory that is their argument (and the working directory): names, numbers, links,
// locks, sockets, pipes, processes that share files with them.
// Expect: clean
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(what)                                                           \
  do {                                                                       \
    if (!(what)) {                                                           \
      fprintf(stderr, "%d: %s (%s)\n", __LINE__, #what, strerror(errno)); \
      _exit(9);                                                              \
    }                                                                        \
  } while (0)

static char **arguments;

static struct stat look(const char *path) {
  struct stat data;
  MUST(lstat(path, &data) == 0);
  return data;
}

static void *worker(void *none) {
  char text[4096] = "";
  MUST(getcwd(text, sizeof text) && strcmp(text, arguments[1]) == 0);
  ssize_t len = readlink("/proc/self/exe", text, sizeof text - 1);
  MUST(len > 0);
  text[len] = 0;
  MUST(strcmp(text, arguments[2]) == 0);
  MUST(getuid() == geteuid() && look(".").st_uid == getuid());

  // A file of the user's keeps its number when it is written, under both of its names.
  int fd = open("given", O_RDWR);
  struct stat before = look("given"), now;
  MUST(fd >= 0 && pwrite(fd, "G", 1, 0) == 1 && fstat(fd, &now) == 0);
  MUST(now.st_ino == before.st_ino && look("given").st_ino == now.st_ino);
  MUST(link("given", "linked") == 0 && look("linked").st_nlink == 2);
  // What is more than that, wmtrace can do for root only.
  MUST(getuid() != 0 || look("linked").st_ino == look("given").st_ino);
  MUST(getuid() != 0 || (rename("full", "other") == 0 && rename("other", "full") == 0));
  MUST(rename("given", "moved") == 0 && access("given", F_OK) != 0);
  MUST(symlink("moved", "symbolic") == 0 && open("symbolic", O_RDONLY) >= 0);

  // Locks are seen by other processes.
  int locked = open("lock", O_RDWR | O_CREAT, 0600);
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  MUST(locked >= 0 && fcntl(locked, F_SETLK, &whole) == 0);
  pid_t child = fork();
  if (child == 0) {
    int other = open("lock", O_RDWR);
    if (fcntl(other, F_SETLK, &whole) == 0) _exit(1);
    int made = open("by-child", O_WRONLY | O_CREAT | O_EXCL, 0600);
    _exit(write(made, "child", 5) != 5);
  }
  int status;
  MUST(waitpid(child, &status, 0) == child && status == 0);
  MUST(look("by-child").st_size == 5);
  MUST(system("test \"$(cat by-child)\" = child && echo shell > by-shell") == 0);
  MUST(look("by-shell").st_size == 6);

  // Sockets, pipes, memory, files without a name.
  struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "socket"};
  int listener = socket(AF_UNIX, SOCK_STREAM, 0), caller = socket(AF_UNIX, SOCK_STREAM, 0);
  MUST(bind(listener, (struct sockaddr *)&name, sizeof name) == 0 && listen(listener, 1) == 0);
  MUST(connect(caller, (struct sockaddr *)&name, sizeof name) == 0);
  MUST(mkfifo("pipe", 0600) == 0);
  int reader = open("pipe", O_RDONLY | O_NONBLOCK), writer = open("pipe", O_WRONLY);
  MUST(write(writer, "x", 1) == 1 && read(reader, text, 1) == 1);
  MUST(ftruncate(locked, 4096) == 0);
  char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, locked, 0);
  MUST(memory != MAP_FAILED);
  memory[5] = 'm';
  MUST(pread(locked, text, 6, 0) == 6 && text[5] == 'm');
  MUST(mkdir("d", 0750) == 0 && rename("moved", "d/moved") == 0 && rename("d", "e") == 0);
  MUST((look("e").st_mode & 07777) == 0750 && unlink("e/moved") == 0 && rmdir("e") == 0);
  // A directory of the user's goes, and another one of its name comes.
  MUST(unlink("full/inside") == 0 && rmdir("full") == 0 && mkdir("full", 0700) == 0);
  MUST(access("full/inside", F_OK) != 0);
  return none;
}

int main(int count, char **args) {
  if (count != 3) return 2;
  arguments = args;
  umask(022);
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  return 0;
}
