#include <quern/net/detail/http_connection.hpp>

#include <boost/beast/core/string.hpp>

#include <algorithm>
#include <utility>

namespace quern::net::detail {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

namespace {

constexpr std::size_t usual_request = 16 * 1024; // a batch of ten small messages, whole
constexpr std::size_t largest_piece = 256 * 1024;
constexpr std::size_t most_unwritten = 256 * 1024; // answers to pipelined requests that wait to leave together

} // namespace

http_connection::http_connection(std::shared_ptr<http_server> core, tcp::socket socket)
    : core_(std::move(core)), wire_(std::move(socket), core_->tls.get()), hurries_(core_->limits.first_at_once)
{
    is_.since = core_->time.now();
    is_.deadline = is_.since + core_->limits.handshake_timeout;
    session_ = core_->greet(*this);
    core_->enter(*this);
}

http_connection::~http_connection()
{
    if (turn_.later) session_->gone(false);
    core_->bodies.hold(held_, 0);
    set_unsent(0);
    if (is_.follows) core_->count_follower(-1);
    core_->leave(*this);
}

asio::awaitable<void> http_connection::run()
{
    auto& answer = session_->answer();
    bool go_on = co_await wire_.shake_hands();
    while (go_on && !is_.closed) {
        auto const found = parse();
        if (found == parsed::request) {
            begin();
            if (turn_.has_to_wait()) {
                go_on = co_await finish_slowly();
            } else {
                append_answer();
                go_on = answer.keep_alive;
            }
            if (go_on && wire_.out.size() < most_unwritten) continue;
        }
        if (!wire_.out.empty() && core_->holds_back()) co_await kept();
        if (is_.closed) break;
        if (!wire_.write_at_once()) {
            answer.trim();
            auto const sent = co_await write();
            if (!sent) break;
        }
        if (is_.follows) co_await follow();
        bool const ends = !go_on && answer.lingers && !is_.follows;
        if (found == parsed::refused || ends) {
            // With bytes unread a close would reset the connection, and the client might never see why.
            wire_.stop_sending();
            is_.deadline = core_->time.now() + core_->limits.write_timeout;
            co_await swallow();
            break;
        }
        if (found != parsed::incomplete) continue;
        answer.trim();
        if (!is_.proven && core_->bodies.crowded(held_)) co_await room();
        if (is_.closed) break;
        go_on = co_await read();
    }
    close();
}

http_connection::parsed http_connection::parse()
{
    auto const& limits = core_->limits;
    if (!parser_) {
        request_.clear();
        if (!is_.proven) {
            request_.body.shrink_to_fit(); // what nobody counts must not stay
            hold(0);
        }
        header_seen_ = false;
        parser_.emplace(request_, limits.max_header_bytes, limits.max_body_bytes);
    }
    while (in_.size() != 0) {
        boost::system::error_code ec;
        auto const used = parser_->read(in_.data(), ec);
        in_.consume(used);
        if (ec && ec != http::error::need_more) {
            refuse(ec);
            return parsed::refused;
        }
        if (parser_->is_done()) return parsed::request;
        if (ec || used == 0) break;
    }
    // Bytes of a body are taken as they come. What waits for its end is a header, and of those that stand around
    // chunks Beast 345 limits none.
    if (in_.size() > limits.max_header_bytes) {
        refuse(http::error::header_limit);
        return parsed::refused;
    }
    in_request_ = parser_->got_some();
    bool const body = parser_->is_header_done() && limits.body_timeout.count() != 0;
    wait_for(!in_request_ && !hurries_ ? waiting_for::request : body ? waiting_for::body : waiting_for::header);
    if (parser_->is_header_done() && !std::exchange(header_seen_, true) && !look_at_header()) return parsed::refused;
    if (!is_.proven) hold(request_.body.capacity() == std::string().capacity() ? 0 : request_.body.capacity());
    return parsed::incomplete;
}

/// Looks before the body is taken. False when the request is answered without it.
bool http_connection::look_at_header()
{
    bool const asks = boost::beast::iequals(request_.fields.find("expect"), "100-continue");
    auto const gate = session_->look(request_);
    if (gate == http_session::gate::open) {
        if (asks) wire_.out += "HTTP/1.1 100 Continue\r\n\r\n";
        return true;
    }
    request_.body.clear();
    request_.body.shrink_to_fit();
    if (!asks && gate == http_session::gate::passing) {
        parser_->drop_body();
        return true;
    }
    begin();
    session_->answer().keep_alive = false;
    append_answer();
    return false;
}

/// A deadline begins with what is waited for, not with each of its pieces.
void http_connection::wait_for(waiting_for what)
{
    if (std::exchange(waiting_for_, what) == what) return;
    auto const& limits = core_->limits;
    switch (what) {
    case waiting_for::nothing: is_.deadline = tick::max(); break;
    case waiting_for::request: is_.deadline = core_->time.now() + limits.idle_timeout; break;
    case waiting_for::header: is_.deadline = core_->time.now() + limits.header_timeout; break;
    case waiting_for::body: is_.deadline = core_->time.now() + limits.body_timeout; break;
    }
}

void http_connection::hold(std::size_t bytes)
{
    bool const less = core_->bodies.hold(held_, bytes);
    if (less) core_->make_way();
}

void http_connection::set_unsent(std::size_t bytes)
{
    core_->unsent_bytes = core_->unsent_bytes - is_.unsent + bytes;
    is_.unsent = bytes;
}

void http_connection::refuse(boost::system::error_code why)
{
    turn_ = {};
    auto const status = why == http::error::header_limit ? 431
        : why == http::error::body_limit                 ? 413
        : parser_->unsupported_coding()                  ? 501
                                                         : 400;
    session_->refuse(request_, status, why.message());
    session_->answer().keep_alive = false;
    append_answer();
}

void http_connection::begin()
{
    in_request_ = true;
    hurries_ = false;
    wait_for(waiting_for::nothing);
    ++turns_;
    turn_ = session_->serve(request_);
    auto& answer = session_->answer();
    if (!parser_->keep_alive() || core_->stopping() || answer.follows) answer.keep_alive = false;
    if (answer.follows && request_.method != "HEAD") {
        is_.follows = true;
        core_->count_follower(1);
    }
    if (turn_.proven && !std::exchange(is_.proven, true)) hold(0);
    parser_.reset();
}

void http_connection::append_answer()
{
    session_->conclude(request_);
    write_answer(wire_.out, session_->answer(), core_->date(), request_.method == "HEAD");
}

/// Writes what is left. A client that has proved nothing, and does not take it, is counted.
asio::awaitable<bool> http_connection::write()
{
    auto const after = std::exchange(is_.deadline, core_->time.now() + core_->limits.write_timeout);
    if (!is_.proven) {
        set_unsent(wire_.out.size());
        core_->limit_unsent(*this);
    }
    auto const taken = co_await wire_.write();
    set_unsent(0);
    is_.deadline = after;
    co_return taken;
}

asio::awaitable<bool> http_connection::read()
{
    if (core_->stopping() && !in_request_) co_return false;
    if (in_.size() == 0 && in_.capacity() > largest_piece) in_.shrink_to_fit();
    auto const expected = parser_->is_header_done() ? parser_->content_length_remaining().value_or(0) : 0;
    auto const room = std::clamp<std::size_t>(expected, usual_request, is_.proven ? largest_piece : usual_request);
    auto const [ec, size] = co_await wire_.read_some(in_.prepare(room));
    in_.commit(size);
    co_return !ec;
}

void http_connection::finish()
{
    if (!in_request_ && wire_.out.empty()) close();
}

void http_connection::close()
{
    is_.closed = true;
    set_unsent(0);
    hold(0);
    wire_.close();
    wake();
}

} // namespace quern::net::detail
