#include "demo/demo_broker.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <future>

namespace quern::app {

namespace asio = boost::asio;

namespace {

broker::server_options options_for(aws::credentials key)
{
    broker::server_options out;
    out.port = 0;
    out.keys = {std::move(key)};
    return out;
}

} // namespace

demo_broker::demo_broker(aws::credentials key) : server_(io_.get_executor(), options_for(std::move(key)))
{
    server_.listen().value();
    url_ = server_.url();
    thread_ = std::thread([this] { io_.run(); });
}

demo_broker::~demo_broker()
{
    asio::co_spawn(io_, server_.stop(), [this](std::exception_ptr) { io_.stop(); });
    thread_.join();
}

broker::server_counters demo_broker::counters()
{
    std::promise<broker::server_counters> told;
    asio::post(io_, [&] { told.set_value(server_.counters()); });
    return told.get_future().get();
}

} // namespace quern::app
