// Executions write files and look at them. None of them may see what another one has left: the counter is 0 at first, the
// file that the user has put there has its first line only, and no file in /tmp is there already. One thread writes, the
// other checks. In the wrong variant the two also race for a variable, so that there is something to report.
// Expect: race
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int shared;

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  _exit(7);
}

// Reads a number, adds one, writes it.
static int counts(const char *path) {
  int number = 0;
  int fd = open(path, O_RDWR | O_CREAT, 0644);
  if (fd < 0) fail(path);
  char text[16] = "";
  if (read(fd, text, sizeof text - 1) < 0) fail("read");
  number = atoi(text) + 1;
  int len = snprintf(text, sizeof text, "%d\n", number);
  if (pwrite(fd, text, len, 0) != len) fail("write");
  close(fd);
  return number;
}

static void *writer(void *none) {
  pthread_mutex_lock(&lock);
  if (counts("counter.txt") != 1) _exit(8);
  int fd = open("/tmp/wmtrace-files-test", O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (fd < 0) fail("/tmp");
  close(fd);
  fd = open("data.txt", O_WRONLY | O_APPEND);
  if (fd < 0 || write(fd, "more\n", 5) != 5) fail("data.txt");
  close(fd);
  if (mkdir("made", 0755) != 0 || rename("data.txt", "made/data.txt") != 0) fail("made");
  pthread_mutex_unlock(&lock);
#ifdef BUGGY
  shared++;
#endif
  return none;
}

static void *checker(void *none) {
  pthread_mutex_lock(&lock);
  char text[64] = "";
  int fd = open("made/data.txt", O_RDONLY);
  int moved = fd >= 0;
  if (!moved) fd = open("data.txt", O_RDONLY);
  if (fd < 0 || read(fd, text, sizeof text - 1) < 0) fail("data.txt");
  close(fd);
  if (strcmp(text, moved ? "first\nmore\n" : "first\n") != 0) _exit(9);
  pthread_mutex_unlock(&lock);
#ifdef BUGGY
  shared++;
#endif
  return none;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, writer, NULL);
  pthread_create(&threads[1], NULL, checker, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  if (unlink("made/data.txt") != 0) fail("unlink");
  return shared > 2;
}
