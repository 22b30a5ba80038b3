#pragma once

#include <quern/aws/clock_skew.hpp>
#include <quern/aws/config/environment.hpp>
#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/net/client.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace quern::aws {

/// A request to wherever it goes. Not an aggregate: g++ 12.2 destroys those twice in a `co_await` expression
/// (GCC PR107288).
struct web_request {
    std::string method = "GET";
    std::string url;                                          ///< absolute, with its query
    std::vector<std::pair<std::string, std::string>> headers; ///< host and content-length are added
    std::string body;
    std::chrono::milliseconds timeout{10'000};
    bool is_next_door = false;                 ///< to this machine or its host: no proxy could reach it
    std::size_t max_reply_bytes = 1024 * 1024; ///< enough for keys and tokens

    web_request() {}
    explicit web_request(std::string to) : url(std::move(to)) {}
};

/// The seam through which credentials are fetched: the network, or what a test puts in its place. Requests are rare,
/// so each has a connection of its own.
class web {
public:
    virtual ~web() = default;

    /// Completes with the answer, whatever its status.
    ///
    /// Fails with    as net::client::exchange; errc::invalid_request for a URL that is none or a header that would
    ///               break the line, and shows nothing of the header; errc::invalid_option where connections cannot
    ///               be made as they are set up, and names the host and the option
    /// Cancellation  terminal.
    virtual boost::asio::awaitable<result<net::response>> send(web_request) = 0;
};

/// The network. What the options leave open is as in completed(), but that no proxy is asked for what is next door.
std::unique_ptr<web> real_web(
    boost::asio::any_io_executor, net::client_options = net::client_options(), environment = process_environment);

/// Says what an answer other than 2xx means.
using error_reader = failure (*)(net::response const&);

/// How often fetch() asks.
struct patience {
    int attempts = 3;
    bool with_the_silent = true; ///< a request that was not answered at all is repeated too
    clock_skew* skew = nullptr;  ///< that a refused request may teach, which is then made anew at once; null: none is
};

/// Sends what `make` makes, anew for each attempt, until an answer is of status 2xx, and again where that may help;
/// pauses as aws::retries has them.
///
/// Fails with    as web::send, and what the reader makes of the answer
/// Cancellation  terminal.
boost::asio::awaitable<result<net::response>> fetch(
    web&, clock&, std::function<result<web_request>()> make, error_reader, patience);

} // namespace quern::aws
