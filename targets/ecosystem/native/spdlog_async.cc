// An asynchronous logger with one worker thread, two threads that log.
#include <cassert>
#include <spdlog/async.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <thread>

struct Counter : spdlog::sinks::base_sink<std::mutex> {
    int messages = 0, flushes = 0;
    void sink_it_(const spdlog::details::log_msg &) override { messages++; }
    void flush_() override { flushes++; }
};

int main() {
    auto sink = std::make_shared<Counter>();
    {
        auto pool = std::make_shared<spdlog::details::thread_pool>(2, 1);
        auto logger = std::make_shared<spdlog::async_logger>("log", sink, pool, spdlog::async_overflow_policy::block);
        auto log = [&logger] { logger->info("number {}", 1); };
        std::thread one(log), two(log);
        one.join();
        two.join();
        logger->flush();
    }
    assert(sink->messages == 2 && sink->flushes == 1);
}
