// Names of shared memory, semaphores and queues: each execution finds none of them, and makes them.
// Expect: clean
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/shm.h>
#include <unistd.h>

static sem_t *sem;
static int *memory;

static void *worker(void *none) {
  sem_wait(sem);
  memory[0]++;
  sem_post(sem);
  return none;
}

int main(void) {
  int fd = shm_open("/wmtrace-test", O_RDWR | O_CREAT | O_EXCL, 0600);
  if (fd < 0 || ftruncate(fd, 4096) != 0) return 3;
  memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED || memory[0] != 0) return 4;
  sem = sem_open("/wmtrace-test", O_CREAT | O_EXCL, 0600, 1);
  if (sem == SEM_FAILED) return 5;
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, worker, NULL);
  int segment = shmget(0x776d7472, 4096, IPC_CREAT | IPC_EXCL | 0600);
  if (segment < 0 || msgget(0x776d7472, IPC_CREAT | IPC_EXCL | 0600) < 0) return 6;
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  // Nothing is taken away: the next execution must not find it.
  return memory[0] == 2 ? 0 : 7;
}
