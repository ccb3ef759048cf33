// For LD_PRELOAD: appends a byte to the file that ECOSYSTEM_THREADS names for each thread that the program creates.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument) {
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
    const char *name = getenv("ECOSYSTEM_THREADS");
    int file = name ? open(name, O_CREAT | O_WRONLY | O_APPEND, 0600) : -1;
    if (file >= 0 && write(file, ".", 1) == 1)
        close(file);
    return next(thread, attributes, function, argument);
}
