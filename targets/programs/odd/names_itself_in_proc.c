// A program that looks itself and its threads up in /proc by the numbers that it knows.
// Expect: clean
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void can_open(const char *format, int number) {
    char path[64], before[64];
    snprintf(path, sizeof path, format, number);
    strcpy(before, path);
    int file = open(path, O_RDONLY);
    if (file < 0 || strcmp(path, before) != 0)
        abort();
    close(file);
    if (access(path, R_OK) != 0)
        abort();
}

static void *thread(void *unused) {
    can_open("/proc/%d/maps", getpid());
    can_open("/proc/self/task/%d/stat", gettid());
    can_open("/proc/%d/stat", gettid());
    return unused;
}

int main(void) {
    pthread_t other;
    thread(NULL);
    pthread_create(&other, NULL, thread, NULL);
    return pthread_join(other, NULL);
}
