// A queue of notifications, and a pool of threads.
#include <Poco/AutoPtr.h>
#include <Poco/Notification.h>
#include <Poco/NotificationQueue.h>
#include <Poco/RunnableAdapter.h>
#include <Poco/ThreadPool.h>
#include <cassert>

struct Number : Poco::Notification {
    int value;
    explicit Number(int value) : value(value) {}
};

struct Worker {
    Poco::NotificationQueue &queue;
    int sum = 0;
    void run() {
        for (;;) {
            Poco::AutoPtr<Poco::Notification> notification(queue.waitDequeueNotification());
            int value = notification.cast<Number>()->value;
            if (value == 0)
                return;
            sum += value;
        }
    }
};

int main() {
    Poco::NotificationQueue queue;
    Worker one{queue}, two{queue};
    Poco::ThreadPool pool(2, 2);
    Poco::RunnableAdapter<Worker> first(one, &Worker::run), second(two, &Worker::run);
    pool.start(first);
    pool.start(second);
    for (int i = 1; i <= 3; i++)
        queue.enqueueNotification(new Number(i));
    for (int i = 0; i < 2; i++)
        queue.enqueueNotification(new Number(0));
    pool.joinAll();
    assert(one.sum + two.sum == 6);
}
