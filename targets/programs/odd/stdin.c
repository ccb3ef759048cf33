// Two threads take turns to read numbers from standard input; each execution must see all of it again.
// Expect: clean
// Options: --stdin -
// Stdin: 1 2 3 4 5 6
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void *work(void *unused) {
    for (int more = 1; more;) {
        int number;
        pthread_mutex_lock(&lock);
        more = scanf("%d", &number) == 1;
        if (more)
            sum += number;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", sum);
    return sum != 21;
}
