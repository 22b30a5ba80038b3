#pragma once

#include "support/loopback.hpp"

#include <quern/aws/detail/call.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>

#include <deque>

namespace quern::test {

using namespace quern::detail;
namespace asio = boost::asio;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;

inline wall_time const start = *text::parse_timestamp("20260102T030405Z");
inline constexpr auto an_hour_later = "date: Fri, 02 Jan 2026 04:04:05 GMT\r\n";

/// A wait on it ends at once, and moves both clocks by its length; or, once `stuck`, never. One for as long as an
/// attempt may take is for somebody to ring, unless `loses_patience`.
class test_clock final : public quern::clock {
public:
    tick now() const override { return tick() + elapsed; }
    wall_time wall() const override { return start + std::chrono::duration_cast<wall_time::duration>(elapsed); }
    std::unique_ptr<timer> make_timer(asio::any_io_executor ex) override
    {
        return std::make_unique<instant>(*this, real_clock().make_timer(ex));
    }

    nanoseconds elapsed{};
    std::vector<nanoseconds> waits;
    std::function<void()> stuck;
    bool loses_patience = false;

private:
    class instant final : public timer {
    public:
        instant(test_clock& owner, std::unique_ptr<timer> real) : owner_(owner), real_(std::move(real)) {}
        asio::awaitable<bool> wait_until(tick at) override
        {
            bool const is_patient = at == tick::max() || (at - owner_.now() >= 10s && !owner_.loses_patience);
            if (is_patient) co_return co_await real_->wait_until(tick::max());
            owner_.waits.push_back(at - owner_.now());
            if (owner_.stuck) {
                owner_.stuck();
                co_return co_await real_->wait_until(tick::max());
            }
            owner_.elapsed = at - tick();
            co_return true;
        }
        void cancel() override { real_->cancel(); }

    private:
        test_clock& owner_;
        std::unique_ptr<timer> real_;
    };
};

/// Hands out the first of its keys; renew() goes on to the next.
class rotating_keys final : public aws::credentials_provider {
public:
    asio::awaitable<result<aws::shared_credentials>> get() override
    {
        if (left.empty()) co_return failure(errc::no_credentials, "none");
        co_return left.front();
    }
    aws::renewal renew(aws::shared_credentials const& refused) override
    {
        if (left.size() < 2 || left.front() != refused) return aws::renewal::never;
        left.pop_front();
        return aws::renewal::now;
    }
    std::deque<aws::shared_credentials> left;
};

inline std::string reply(int status, std::string const& headers = "", std::string const& body = "{}")
{
    return http_reply(body, "HTTP/1.1 " + std::to_string(status) + " X\r\n" + headers + "x-amzn-requestid: r");
}

inline std::string error(
    int status, std::string const& type, std::string const& headers = "", std::string const& message = "why")
{
    return reply(status, headers, R"({"__type":"a#)" + type + R"(","message":")" + message + "\"}");
}

/// A service that answers from a script and remembers what it was asked. An empty text hangs up, "gone" for
/// good, "silence" says nothing more.
struct scripted_service {
    asio::io_context io;
    loopback server{io};
    test_clock time;
    std::shared_ptr<rotating_keys> keys = std::make_shared<rotating_keys>();
    aws::retry_options retries;
    std::deque<std::string> script;
    std::vector<std::string> asked;
    net::client http{io.get_executor(), net::parse_endpoint(server.url()).value(), one_poll()};
    std::optional<aws::detail::json_service> service;

    static net::client_options one_poll()
    {
        net::client_options out;
        out.data_connections = 1;
        return out;
    }

    scripted_service()
    {
        keys->left.push_back(std::make_shared<aws::credentials const>(aws::credentials{"AKID1", "s", ""}));
        play(io, serve());
    }

    asio::awaitable<void> serve()
    try {
        for (;;) {
            auto socket = co_await server.accept();
            play(io, converse(std::move(socket)));
        }
    } catch (boost::system::system_error const&) {
        // gone
    }

    asio::awaitable<void> converse(loopback::socket socket)
    {
        for (;;) {
            auto request = co_await read_request(socket);
            asked.push_back(std::move(request));
            if (script.empty()) co_return;
            auto const next = script.front();
            script.pop_front();
            if (next == "gone") server.close();
            if (next.empty() || next == "gone") co_return;
            if (next == "silence") {
                co_await socket.async_wait(loopback::socket::wait_error, asio::use_awaitable);
                co_return;
            }
            co_await say(socket, next);
        }
    }

    aws::detail::json_service& made()
    {
        if (!service) use(keys);
        return *service;
    }

    /// Its credentials come from there.
    void use(std::shared_ptr<aws::credentials_provider> provider)
    {
        aws::detail::json_target target;
        target.region = "us-east-1";
        service.emplace(http, std::move(target), std::move(provider), time, retries, [] { return 1.0; });
    }

    result<net::response> call(aws::detail::call_options how = aws::detail::call_options())
    {
        return run(io, made().call("SendMessage", "{\"a\":1}", how));
    }

    /// Cancels when `when` is called; then the call ends.
    result<net::response> cancelled_call(std::function<void()>& when)
    {
        asio::cancellation_signal signal;
        result<net::response> out = failure(errc::bad_reply, "never ended");
        when = [&] { asio::post(io, [&] { signal.emit(asio::cancellation_type::terminal); }); };
        auto const done = [&](std::exception_ptr thrown, result<net::response> value) {
            if (thrown) std::rethrow_exception(thrown);
            out = std::move(value);
            io.stop();
        };
        asio::co_spawn(io, made().call("SendMessage", "{}", aws::detail::call_options()),
            asio::bind_cancellation_slot(signal.slot(), done));
        io.restart();
        io.run();
        return out;
    }

    bool was_asked(std::size_t index, std::string_view what) const
    {
        return index < asked.size() && asked[index].find(what) != std::string::npos;
    }
};

} // namespace quern::test
