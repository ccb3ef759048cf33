// An asynchronous appender: its own thread writes.
#include <cassert>
#include <log4cplus/asyncappender.h>
#include <log4cplus/initializer.h>
#include <log4cplus/logger.h>
#include <log4cplus/loggingmacros.h>
#include <log4cplus/spi/loggingevent.h>
#include <thread>

struct Counter : log4cplus::Appender {
    int messages = 0;
    void close() override { closed = true; }
    ~Counter() override { destructorImpl(); }

  protected:
    void append(const log4cplus::spi::InternalLoggingEvent &) override { messages++; }
};

int main() {
    log4cplus::Initializer initializer;
    auto *counter = new Counter;
    log4cplus::SharedAppenderPtr kept(counter);
    log4cplus::SharedAppenderPtr async(new log4cplus::AsyncAppender(kept, 1));
    auto logger = log4cplus::Logger::getInstance(LOG4CPLUS_TEXT("test"));
    logger.setAdditivity(false);
    logger.addAppender(async);
    auto log = [&logger] { LOG4CPLUS_INFO(logger, LOG4CPLUS_TEXT("hello")); };
    std::thread one(log), two(log);
    one.join();
    two.join();
    logger.removeAllAppenders();
    async->close();
    assert(counter->messages == 2);
}
