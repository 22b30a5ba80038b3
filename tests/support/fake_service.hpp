#pragma once

#include "support/loopback.hpp"

#include <quern/aws/client_options.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quern::test {

/// A service of AWS on the loopback, on the context of its clients. It checks no signatures.
class fake_service {
public:
    explicit fake_service(boost::asio::io_context& io) : io_(io), server_(io) { play(io, serve()); }
    virtual ~fake_service() = default;

    std::string url() const { return server_.url(); }

    /// Options of a client that finds it.
    template <class Options = aws::client_options>
    Options options() const
    {
        Options out;
        out.where.url = url();
        out.where.region = "eu-west-1";
        out.credentials = aws::static_credentials({"AKIDEXAMPLE", "secret", ""});
        return out;
    }

    std::vector<std::string> asked; ///< the requests, whole
    bool is_down = false;           ///< hangs up on whoever asks

protected:
    /// The answer as it goes over the wire; nothing: it is never sent.
    virtual std::optional<std::string> answer_to(std::string const& request) = 0;

    static std::string header(std::string const& request, std::string const& name)
    {
        auto const at = request.find("\r\n" + name + ": ");
        if (at == std::string::npos) return {};
        auto const begin = at + name.size() + 4;
        return request.substr(begin, request.find("\r\n", begin) - begin);
    }
    static std::string body(std::string const& request) { return request.substr(request.find("\r\n\r\n") + 4); }

    static std::string reply(int status, std::string const& text, std::string const& headers = {})
    {
        return http_reply(text, "HTTP/1.1 " + std::to_string(status) + " X\r\n" + headers + "x-amzn-requestid: r");
    }

private:
    boost::asio::awaitable<void> serve()
    {
        for (;;) {
            auto socket = co_await server_.accept();
            play(io_, converse(std::move(socket)));
        }
    }

    boost::asio::awaitable<void> converse(loopback::socket socket)
    {
        try {
            for (;;) {
                auto const request = co_await read_request(socket);
                asked.push_back(request);
                if (is_down) co_return;
                auto text = answer_to(request);
                if (!text) co_return;
                co_await say(socket, std::move(*text));
            }
        } catch (boost::system::system_error const&) { // it has hung up
        }
    }

    boost::asio::io_context& io_;
    loopback server_;
};

} // namespace quern::test
