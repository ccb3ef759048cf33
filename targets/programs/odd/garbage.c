// Writes all bytes, escape sequences and a title change to both outputs, without a newline at the end.
// Wrong: and then fails, so that its output is shown: no escape may reach the terminal. Right: it does not fail.
// Expect: assertion
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static int failed;

static void *work(void *unused) {
    static const char escapes[] = "\033[2J\033[31m\033]0;title\007\033[?1049h\xff\xfe\xc3";
    char all[256];
    for (int i = 0; i < 256; ++i)
        all[i] = (char)i;
    for (int output = 1; output <= 2; ++output) {
        failed |= write(output, escapes, sizeof escapes - 1) < 0;
        failed |= write(output, all, sizeof all) < 0;
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
#ifdef BUGGY
    assert(!"after garbage");
#endif
    return failed;
}
