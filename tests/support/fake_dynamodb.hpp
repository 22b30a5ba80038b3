#pragma once

#include "support/dynamodb_tables.hpp"
#include "support/loopback.hpp"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quern::test {

/// A DynamoDB on the loopback, on the context of its clients: it evaluates conditions and checks no signatures.
class fake_dynamodb {
public:
    explicit fake_dynamodb(boost::asio::io_context& io) : io_(io), server_(io) { play(io, serve()); }

    std::string url() const { return server_.url(); }

    dynamodb_tables tables;
    std::vector<std::string> operations; ///< carried out, in their order
    std::vector<std::string> asked;      ///< the requests, whole

    /// Answers in place of the truth, for an operation that is not carried out; nothing: the truth.
    std::function<std::optional<dynamodb_tables::reply>(std::string const& operation)> instead;

    /// The operation is carried out, and its answer never sent.
    std::function<bool(std::string const& operation)> loses_answer;

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
                auto const [text, lost] = answer_to(request);
                if (lost) co_return;
                co_await say(socket, text);
            }
        } catch (boost::system::system_error const&) { // it has hung up
        }
    }

    static std::string header(std::string const& request, std::string const& name)
    {
        auto const at = request.find("\r\n" + name + ": ");
        if (at == std::string::npos) return {};
        auto const begin = at + name.size() + 4;
        return request.substr(begin, request.find("\r\n", begin) - begin);
    }

    std::pair<std::string, bool> answer_to(std::string const& request)
    {
        auto const target = header(request, "x-amz-target");
        auto const operation = target.substr(target.find('.') + 1);
        asked.push_back(request);
        auto said = instead ? instead(operation) : std::nullopt;
        if (!said) {
            operations.push_back(operation);
            said = tables.carry_out(operation, request.substr(request.find("\r\n\r\n") + 4));
        }
        auto const head = "HTTP/1.1 " + std::to_string(said->status) + " X\r\nx-amzn-requestid: r";
        return {http_reply(said->body, head), loses_answer && loses_answer(operation)};
    }

    boost::asio::io_context& io_;
    loopback server_;
};

} // namespace quern::test
