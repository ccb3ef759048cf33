// Writes more than wmtrace keeps of an execution's files, in one go or little by little; without an argument, not much.
// Expect: clean
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char block[1 << 22];
static int wanted;

static void *worker(void *how) {
  int fd = open("large", O_WRONLY | O_CREAT, 0600);
  if (how && strcmp(how, "allocate") == 0 && posix_fallocate(fd, 0, 1l << 30) != 0) wanted = 0;
  for (int i = 0; i < wanted; i++)
    if (write(fd, block, sizeof block) < 0) break;
  // Whoever cleans up has written it all the same.
  unlink("large");
  return NULL;
}

int main(int count, char **args) {
  pthread_t thread;
  wanted = count > 1 ? 200 : 1;
  pthread_create(&thread, NULL, worker, args[1]);
  pthread_join(thread, NULL);
  return 0;
}
