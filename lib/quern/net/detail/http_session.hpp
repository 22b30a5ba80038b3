#pragma once

#include <quern/net/detail/http_request.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace quern::net::detail {

/// Answer to a request. Its buffers serve one answer after another.
struct http_answer {
    int status = 200; ///< 0: none is given
    std::string_view content_type;
    std::string more_headers; ///< "\r\nName: value", any number of them
    std::string body;
    bool keep_alive = true;
    bool lingers = false; ///< where it is the last one: closed once the client has, whose bytes may be on their way
    bool follows = false; ///< it goes on with what http_server::tell() says, until either side closes

    void clear()
    {
        status = 200;
        more_headers.clear();
        body.clear();
        trim();
        keep_alive = true;
        follows = false;
    }
    /// The answer has been written: its body goes if it was a large one.
    void trim()
    {
        if (body.capacity() > kept) std::string().swap(body);
    }

    static constexpr std::size_t kept = 256 * 1024; ///< an idle connection keeps no larger buffer
};

/// Appends the answer as it goes over the wire: that to a HEAD without its body.
void write_answer(std::string& wire, http_answer const&, std::string_view date, bool to_head);

/// Course that a request takes.
struct http_turn {
    /// Harm to the answer or the connection, of a server that shows its clients what may happen to them.
    enum class harm {
        none,
        unanswered, ///< closed
        half_open,  ///< never answered, and not closed
        truncated,  ///< the answer breaks off
        slow        ///< it trickles
    };

    bool proven = false; ///< the client has shown that it may ask: the limits for strangers are not for it any more
    bool later = false;  ///< its answer is still to come, see http_connection::ready()
    harm planted = harm::none;
    std::chrono::milliseconds latency{0}; ///< before the answer
    int bytes_per_second = 0;             ///< slow

    bool has_to_wait() const { return later || planted != harm::none || latency.count() != 0; }
};

/// Talk of a server with one client, from which HTTP has been taken away: one request after the other.
class http_session {
public:
    virtual ~http_session() = default;

    /// Treatment of a request that is refused whatever its body is, as its header shows.
    enum class gate {
        open,    ///< it is not refused, as yet
        passing, ///< answered when the body has passed, so that the connection can go on
        shut     ///< answered at once, without the body
    };
    virtual gate look(http_request const&) = 0;

    /// Answers a request; one that was refused too.
    virtual http_turn serve(http_request const&) = 0;

    /// Answers what is no valid HTTP, or larger than may be. `request`: as far as it was read.
    virtual void refuse(http_request const&, int status, std::string const& why) = 0;

    /// The answer is about to be written; or its status is 0, and nothing is.
    virtual void conclude(http_request const&) {}

    /// The client has gone, whose answer was still to come. `hung_up`: it has closed, and not we.
    virtual void gone([[maybe_unused]] bool hung_up) {}

    virtual http_answer& answer() = 0;
};

} // namespace quern::net::detail
