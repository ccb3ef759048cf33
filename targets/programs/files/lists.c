// What is in the working directory decides what the threads do: a directory with recordings that appears there must not be
// seen. There is a race, so that something is recorded.
// Expect: race
#include <dirent.h>
#include <pthread.h>

static int events, shared;

static void *worker(void *none) {
  int count = 0;
  DIR *directory = opendir(".");
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) count++;
  closedir(directory);
  // As many events as there are files.
  for (int i = 0; i < count; i++) __atomic_fetch_add(&events, 1, __ATOMIC_RELAXED);
  shared++;
  return none;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, worker, NULL);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  return 0;
}
