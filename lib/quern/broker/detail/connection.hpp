#pragma once

#include <quern/broker/detail/http_answer.hpp>
#include <quern/broker/detail/server_core.hpp>
#include <quern/net/detail/http_request.hpp>
#include <quern/net/detail/request_parser.hpp>
#include <quern/net/detail/tls.hpp>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include <memory>
#include <optional>
#include <string>
#include <tuple>

namespace quern::broker {

/// One client: reads requests, has them answered one after the other, writes the answers.
///
/// A request that arrives whole costs one read and one write. Of several in one read (pipelining) the answers leave
/// together, unless one of them has to wait.
class connection : public std::enable_shared_from_this<connection> {
public:
    connection(std::shared_ptr<server_core>, boost::asio::ip::tcp::socket);
    ~connection();

    /// Completes when the connection is closed, by either side.
    boost::asio::awaitable<void> run();

    /// The long poll that this connection waits for has ended.
    void deliver(result<sqs::receive_message_response> const&);

    /// The journal has what the answers say.
    void saved();

    /// When its client will have taken too long over what it is at.
    tick deadline() const { return deadline_; }
    /// One of its requests was let in.
    bool proven() const { return proven_; }
    std::size_t unsent_bytes() const { return unsent_; } ///< of answers that are not taken, while none was let in
    bool closed() const { return closed_; }
    tick since() const { return since_; }

    /// Others hold less than they did.
    void make_way()
    {
        if (room_) room_->ring();
    }

    /// No more requests: closes at once when none is under way, after its answer otherwise.
    void finish();
    void close();

private:
    enum class parsed { request, incomplete, refused };

    boost::asio::awaitable<bool> shake_hands();
    enum class waiting_for { nothing, request, header, body };
    void wait_for(waiting_for);
    void let_in();
    void hold(std::size_t bytes);
    void hold_unsent();
    void set_unsent(std::size_t bytes);
    bool look_at_header();

    parsed parse();
    void refuse(boost::system::error_code);
    void begin();
    bool has_to_wait() const;
    boost::asio::awaitable<bool> finish_slowly();
    void append_answer();
    void record(std::string_view request_id);

    boost::asio::awaitable<void> kept();
    bool write_at_once();
    boost::asio::awaitable<bool> write();
    boost::asio::awaitable<void> trickle(int bytes_per_second);
    boost::asio::awaitable<void> room();
    boost::asio::awaitable<bool> read();
    boost::asio::awaitable<void> swallow();
    boost::asio::awaitable<void> pause(std::chrono::milliseconds);
    void watch_for_disconnect(poll_id);

    std::shared_ptr<server_core> core_;
    using transfer = boost::asio::awaitable<std::tuple<boost::system::error_code, std::size_t>>;
    transfer read_some(boost::asio::mutable_buffer);
    transfer write_all(boost::asio::const_buffer);

    boost::asio::ip::tcp::socket socket_;
    std::optional<net::tls_stream> tls_;
    std::string peer_; ///< for the access log

    boost::beast::flat_buffer in_;
    std::optional<net::request_parser> parser_;
    bool header_seen_ = false; ///< before its body: who asks, and whether to continue (Expect: 100-continue)
    bool in_request_ = false;  ///< from the first byte of a request until its answer is written or waits to be

    net::http_request request_;
    http_answer answer_;
    served served_;
    tick began_{};
    std::string out_;
    std::size_t written_ = 0;

    std::optional<alarm> poll_ended_;
    std::optional<alarm> saved_;
    bool owed_ = false; ///< the answers in out_ wait for the journal
    std::unique_ptr<timer> pause_;
    std::optional<alarm> room_; ///< waited for since the others hold much
    bool closed_ = false;

    tick const since_;
    waiting_for waiting_for_ = waiting_for::nothing;
    tick deadline_ = tick::max();
    bool proven_ = false;
    body_budget::share held_{this}; ///< for a body, while none was let in
    std::size_t unsent_ = 0;
};

} // namespace quern::broker
