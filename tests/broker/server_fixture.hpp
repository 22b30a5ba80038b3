#pragma once

#include "server_clock.hpp"
#include "support/server_thread.hpp"
#include "support/socket_client.hpp"

#include <quern/aws/detail/signing/sigv4.hpp>

#include <boost/test/unit_test.hpp>

#include <future>
#include <string>
#include <string_view>
#include <thread>

namespace quern::test {

using namespace quern::detail;

/// A request as text: POST / with the headers of an awsJson1_0 call.
inline std::string request_text(std::string_view operation, std::string_view body, std::string_view more_headers = {})
{
    std::string out = "POST / HTTP/1.1\r\nHost: broker.test:9324\r\nContent-Type: application/x-amz-json-1.0\r\n";
    out.append("X-Amz-Target: AmazonSQS.").append(operation).append("\r\n").append(more_headers);
    out.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n\r\n").append(body);
    return out;
}

/// The Authorization, X-Amz-Date and other headers that sign such a request.
inline std::string signature_headers(std::string_view operation, std::string_view body, aws::credentials const& who,
    wall_time at, std::string_view region = "us-east-1")
{
    auto const target = "AmazonSQS." + std::string(operation);
    aws::detail::request_view view;
    view.method = "POST";
    view.target = "/";
    view.headers = {
        {"Host", "broker.test:9324"}, {"Content-Type", "application/x-amz-json-1.0"}, {"X-Amz-Target", target}};
    view.body = body;
    aws::detail::signing_keys keys;
    aws::detail::signing_scope const scope{text::timestamp(at), region, "sqs"};
    std::string out;
    for (auto const& [name, value] : aws::detail::sign(view, who, scope, {}, keys).added)
        out += name + ": " + value + "\r\n";
    return out;
}

/// A client that calls operations.
class raw_client : public socket_client {
public:
    using socket_client::socket_client;

    reply call(std::string_view operation, std::string_view body, std::string_view more_headers = {})
    {
        send(request_text(operation, body, more_headers));
        return receive();
    }
};

/// A server with time that stands still.
class running_server {
public:
    explicit running_server(broker::server_options options = unsigned_options(), broker::engine_options queues = {})
        : on_(under_test_names(std::move(options)), std::move(queues), clock_)
    {}

    static broker::server_options unsigned_options() { return server_thread::unsigned_options(); }

    /// The hosts that the texts of the tests name.
    static broker::server_options under_test_names(broker::server_options options)
    {
        if (options.host == "127.0.0.1") options.hosts.insert(options.hosts.end(), {"broker.test", "h"});
        return options;
    }

    raw_client connect() const { return raw_client(port()); }
    std::uint16_t port() const { return on_.server.port(); }

    /// Runs on the server's thread.
    template <class F>
    auto on_server(F f)
    {
        return on_.run(std::move(f));
    }

    broker::server_counters counters()
    {
        return on_server([this] { return server().counters(); });
    }
    void set_faults(broker::fault_settings faults)
    {
        on_server([this, &faults] { server().queues().set_faults(std::move(faults)); });
    }
    void advance(tick::duration by)
    {
        counters(); // a client can have its answer before the server's deadlines are set: let it end its turn
        on_server([this, by] { clock_.advance(by); });
    }
    void suspend(tick::duration by)
    {
        on_server([this, by] { clock_.suspend(by); });
    }
    wall_time wall() const { return clock_.wall(); }

    /// Turns the event loop until that many long polls are parked.
    void wait_for_polls(std::size_t number)
    {
        while (counters().parked_polls != number)
            std::this_thread::yield();
    }
    void wait_for_connections(std::size_t number)
    {
        while (counters().open_connections != number)
            std::this_thread::yield();
    }

    std::future<void> begin_stop(std::chrono::milliseconds limit) { return on_.stop(limit); }
    void stop(std::chrono::milliseconds limit) { begin_stop(limit).get(); }

    broker::server& server() { return on_.server; }

private:
    standing_clock clock_;
    server_thread on_;
};

} // namespace quern::test
