#include <quern/net/detail/http_connection.hpp>

#include <quern/net/detail/as_values.hpp>

#include <boost/asio/write.hpp>
#include <boost/beast/core/string.hpp>

#include <algorithm>
#include <utility>

namespace quern::net {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

namespace {

constexpr std::size_t usual_request = 16 * 1024; // a batch of ten small messages, whole
constexpr std::size_t largest_piece = 256 * 1024;
constexpr std::size_t most_unwritten = 256 * 1024; // answers to pipelined requests that wait to leave together

} // namespace

http_connection::http_connection(std::shared_ptr<http_server> core, tcp::socket socket)
    : core_(std::move(core)), socket_(std::move(socket)), hurries_(core_->limits.first_at_once),
      since_(core_->time.now())
{
    boost::system::error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    socket_.non_blocking(true, ignored); // for write_at_once()
    if (core_->tls) tls_.emplace(socket_, *core_->tls);
    session_ = core_->greet(*this);
    core_->enter(*this);
}

http_connection::~http_connection()
{
    if (turn_.later) session_->gone(false);
    core_->bodies.hold(held_, 0);
    set_unsent(0);
    if (follows_) core_->count_follower(-1);
    core_->leave(*this);
}

std::string http_connection::peer() const
{
    boost::system::error_code ignored;
    auto const end = socket_.remote_endpoint(ignored);
    return end.address().to_string() + ":" + std::to_string(end.port());
}

asio::awaitable<void> http_connection::run()
{
    auto& answer = session_->answer();
    bool go_on = true;
    if (tls_) go_on = co_await shake_hands();
    while (go_on && !closed_) {
        auto const found = parse();
        if (found == parsed::request) {
            begin();
            if (turn_.has_to_wait()) {
                go_on = co_await finish_slowly();
            } else {
                append_answer();
                go_on = answer.keep_alive;
            }
            if (go_on && out_.size() < most_unwritten) continue;
        }
        if (!out_.empty() && core_->holds_back()) co_await kept();
        if (closed_) break;
        if (!write_at_once()) {
            answer.trim();
            auto const sent = co_await write();
            if (!sent) break;
        }
        if (follows_) co_await follow();
        bool const ends = !go_on && answer.lingers && !follows_;
        if (found == parsed::refused || ends) {
            // With bytes unread a close would reset the connection, and the client might never see why.
            boost::system::error_code ignored;
            socket_.shutdown(tcp::socket::shutdown_send, ignored);
            deadline_ = core_->time.now() + core_->limits.write_timeout;
            co_await swallow();
            break;
        }
        if (found != parsed::incomplete) continue;
        answer.trim();
        if (!proven_ && core_->bodies.crowded(held_)) co_await room();
        if (closed_) break;
        go_on = co_await read();
    }
    close();
}

asio::awaitable<bool> http_connection::shake_hands()
{
    deadline_ = core_->time.now() + core_->limits.handshake_timeout;
    auto const [ec] = co_await tls_->async_handshake(asio::ssl::stream_base::server, as_values);
    co_return !ec;
}

http_connection::transfer http_connection::read_some(asio::mutable_buffer room)
{
    return tls_ ? tls_->async_read_some(room, as_values) : socket_.async_read_some(room, as_values);
}

http_connection::transfer http_connection::write_all(asio::const_buffer bytes)
{
    return tls_ ? asio::async_write(*tls_, bytes, as_values) : asio::async_write(socket_, bytes, as_values);
}

http_connection::parsed http_connection::parse()
{
    auto const& limits = core_->limits;
    if (!parser_) {
        request_.clear();
        if (!proven_) {
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
    if (!proven_) hold(request_.body.capacity() == std::string().capacity() ? 0 : request_.body.capacity());
    return parsed::incomplete;
}

/// Looks before the body is taken. False when the request is answered without it.
bool http_connection::look_at_header()
{
    bool const asks = boost::beast::iequals(request_.fields.find("expect"), "100-continue");
    auto const gate = session_->look(request_);
    if (gate == http_session::gate::open) {
        if (asks) out_ += "HTTP/1.1 100 Continue\r\n\r\n";
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
    case waiting_for::nothing: deadline_ = tick::max(); break;
    case waiting_for::request: deadline_ = core_->time.now() + limits.idle_timeout; break;
    case waiting_for::header: deadline_ = core_->time.now() + limits.header_timeout; break;
    case waiting_for::body: deadline_ = core_->time.now() + limits.body_timeout; break;
    }
}

void http_connection::hold(std::size_t bytes)
{
    bool const less = core_->bodies.hold(held_, bytes);
    if (less) core_->make_way();
}

void http_connection::set_unsent(std::size_t bytes)
{
    core_->unsent_bytes = core_->unsent_bytes - unsent_ + bytes;
    unsent_ = bytes;
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
        follows_ = true;
        core_->count_follower(1);
    }
    if (turn_.proven && !std::exchange(proven_, true)) hold(0);
    parser_.reset();
}

void http_connection::append_answer()
{
    session_->conclude(request_);
    write_answer(out_, session_->answer(), core_->date(), request_.method == "HEAD");
}

/// True when nothing is left to write: the kernel takes a usual answer at once, without a turn of the event loop.
bool http_connection::write_at_once()
{
    if (tls_) return out_.empty();
    boost::system::error_code ec;
    while (written_ != out_.size() && !ec) {
        written_ += socket_.write_some(asio::buffer(out_.data() + written_, out_.size() - written_), ec);
    }
    if (written_ != out_.size()) return false;
    out_.clear();
    if (out_.capacity() > http_answer::kept) out_.shrink_to_fit();
    written_ = 0;
    return true;
}

/// Writes what is left. A client that has proved nothing, and does not take it, is counted.
asio::awaitable<bool> http_connection::write()
{
    auto const left = asio::buffer(out_.data() + written_, out_.size() - written_);
    auto const after = std::exchange(deadline_, core_->time.now() + core_->limits.write_timeout);
    if (!proven_) {
        set_unsent(out_.size());
        core_->limit_unsent(*this);
    }
    auto const [ec, size] = co_await write_all(left);
    set_unsent(0);
    deadline_ = after;
    out_.clear();
    out_.shrink_to_fit(); // it was a large one
    written_ = 0;
    co_return !ec;
}

asio::awaitable<bool> http_connection::read()
{
    if (core_->stopping() && !in_request_) co_return false;
    if (in_.size() == 0 && in_.capacity() > largest_piece) in_.shrink_to_fit();
    auto const expected = parser_->is_header_done() ? parser_->content_length_remaining().value_or(0) : 0;
    auto const room = std::clamp<std::size_t>(expected, usual_request, proven_ ? largest_piece : usual_request);
    auto const [ec, size] = co_await read_some(in_.prepare(room));
    in_.commit(size);
    co_return !ec;
}

void http_connection::finish()
{
    if (!in_request_ && out_.empty()) close();
}

void http_connection::close()
{
    closed_ = true;
    set_unsent(0);
    hold(0);
    boost::system::error_code ignored;
    socket_.close(ignored);
    wake();
}

} // namespace quern::net
