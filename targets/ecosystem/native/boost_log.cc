// An asynchronous sink with its own thread.
#include <boost/log/core.hpp>
#include <boost/log/sinks/async_frontend.hpp>
#include <boost/log/sinks/basic_sink_backend.hpp>
#include <boost/log/sources/logger.hpp>
#include <boost/log/sources/record_ostream.hpp>
#include <boost/make_shared.hpp>
#include <boost/smart_ptr/shared_ptr.hpp>
#include <cassert>
#include <thread>

namespace logging = boost::log;

struct Counter : logging::sinks::basic_sink_backend<logging::sinks::synchronized_feeding> {
    int messages = 0;
    void consume(const logging::record_view &) { messages++; }
};

int main() {
    auto backend = boost::make_shared<Counter>();
    auto sink = boost::make_shared<logging::sinks::asynchronous_sink<Counter>>(backend);
    logging::core::get()->add_sink(sink);
    auto log = [] {
        logging::sources::logger logger;
        BOOST_LOG(logger) << "hello";
    };
    std::thread one(log), two(log);
    one.join();
    two.join();
    logging::core::get()->remove_sink(sink);
    sink->stop();
    sink->flush();
    assert(backend->messages == 2);
}
