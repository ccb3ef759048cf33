// Mutex with a condition, Notification, BlockingCounter, Barrier and call_once.
#include <absl/base/call_once.h>
#include <absl/synchronization/barrier.h>
#include <absl/synchronization/blocking_counter.h>
#include <absl/synchronization/mutex.h>
#include <absl/synchronization/notification.h>
#include <cassert>
#include <thread>

int main() {
    absl::Mutex mutex;
    absl::Notification notification;
    absl::BlockingCounter counter(1);
    absl::Barrier *barrier = new absl::Barrier(2);
    absl::once_flag once;
    int made = 0, data = 0, seen = 0;
    bool ready = false;
    std::thread other([&] {
        absl::call_once(once, [&] { made++; });
        data = 1;
        notification.Notify();
        {
            absl::MutexLock lock(&mutex);
            ready = true;
        }
        counter.DecrementCount();
        if (barrier->Block())
            delete barrier;
    });
    absl::call_once(once, [&] { made++; });
    notification.WaitForNotification();
    assert(data == 1);
    {
        absl::MutexLock lock(&mutex);
        mutex.Await(absl::Condition(&ready));
    }
    {
        absl::ReaderMutexLock lock(&mutex);
        seen = ready;
    }
    counter.Wait();
    if (barrier->Block())
        delete barrier;
    other.join();
    assert(made == 1 && seen);
}
