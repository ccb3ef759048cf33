// A log and an input that are open before there are threads: each execution goes on where the file stood then, and what it
// writes is its own.
// Expect: clean
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static int log_file, input;

static void *worker(void *line) {
  return write(log_file, line, 4) == 4 ? NULL : line;
}

int main(void) {
  char text[64] = "";
  log_file = open("log.txt", O_RDWR | O_CREAT | O_APPEND, 0644);
  input = open("data.txt", O_RDONLY);
  if (log_file < 0 || input < 0 || read(input, text, 2) != 2) return 3;
  if (write(log_file, "one\n", 4) != 4) return 4;
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, worker, "two\n");
  pthread_create(&threads[1], NULL, worker, "two\n");
  for (int i = 0; i < 2; i++) {
    void *failed;
    pthread_join(threads[i], &failed);
    if (failed) return 5;
  }
  if (read(input, text, sizeof text) != 4 || memcmp(text, "rst\n", 4) != 0) return 6;
  ssize_t len = pread(log_file, text, sizeof text, 0);
  return len == 12 && memcmp(text, "one\ntwo\ntwo\n", 12) == 0 ? 0 : 7;
}
