#pragma once

#include <quern/sqs/batch.hpp>
#include <quern/sqs/client.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace interop {

namespace asio = boost::asio;
namespace sqs = quern::sqs;
using checked = asio::awaitable<void>;
using texts = std::vector<std::string>;

/// A received message, kept beyond its answer.
struct received {
    std::string body;
    std::string handle;
    int count = 0;
    std::string trace;
    std::string source_arn;
    std::vector<std::pair<std::string, sqs::attribute_value>> attributes; ///< by name

    explicit received(sqs::message const&);
};
using messages = std::vector<received>;

texts sorted(texts);
texts bodies(messages const&);

/// The codes of the entries that failed; those that were done count as "".
texts codes(sqs::outcomes const&);

template <class T>
std::string code(quern::result<T> const& done)
{
    return done ? "none, it was accepted" : done.error().service_code;
}

/// 403; and, where the answer is in the form of the protocol, the code. moto's is in XML, which tells a JSON client
/// none.
template <class T>
bool is_refused(quern::result<T> const& done, std::string const& wanted)
{
    return !done && done.error().http_status == 403 &&
        (done.error().service_code == wanted || done.error().service_code.empty());
}

std::string variable(char const* name, char const* otherwise = "");

std::string shown(std::string const&);
std::string shown(texts const&);
inline std::string shown(bool yes)
{
    return yes ? "yes" : "no";
}
template <class T>
std::string shown(T const& number)
{
    return std::to_string(number);
}

template <class T>
void same(T const& found, std::type_identity_t<T> const& wanted, std::string const& what)
{
    if (found != wanted) throw std::runtime_error(what + ": " + shown(found) + " instead of " + shown(wanted));
}

/// SQS with the client's calls cut down to what the checks vary. What fails is thrown.
class calls {
public:
    explicit calls(asio::io_context& io) : io_(io), client_(io.get_executor()) {}

protected:
    static std::string name(std::string const& of);

    checked pause(std::chrono::milliseconds);
    asio::awaitable<std::string> create(std::string of, sqs::string_map attributes = {});
    asio::awaitable<std::string> attribute(std::string queue, std::string wanted);
    checked put(std::string queue, std::string body);
    asio::awaitable<messages> receive(
        std::string queue, sqs::seconds wait, int most = 10, texts attribute_names = {});
    asio::awaitable<messages> now(std::string queue) { return receive(std::move(queue), sqs::seconds(0)); }

    /// Receives until there are `count`, or five receives more are not enough.
    asio::awaitable<messages> collect(
        std::string queue, std::size_t count, int most = 10, texts attribute_names = {});
    checked remove(std::string queue, messages const&);

    /// Makes it visible at once.
    checked show(std::string queue, received const&);

    struct graveyard {
        std::string source, letters, arn;
    };

    /// A queue, its dead-letter queue and that one's ARN; a message has gone from one to the other.
    asio::awaitable<graveyard> kill_twice(std::string of);

    asio::io_context& io_;
    sqs::client client_;
};

} // namespace interop
