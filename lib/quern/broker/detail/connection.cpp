#include <quern/broker/detail/connection.hpp>

#include <quern/broker/detail/errors.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/string.hpp>

#include <algorithm>

namespace quern::broker {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

namespace {

constexpr auto as_values = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t usual_read = 16 * 1024; // a batch of ten small messages, whole
constexpr std::size_t largest_read = 256 * 1024;
constexpr std::size_t most_unwritten = 256 * 1024; // answers to pipelined requests that wait to leave together

} // namespace

connection::connection(std::shared_ptr<server_core> core, tcp::socket socket)
    : core_(std::move(core)), socket_(std::move(socket)), since_(core_->time.now())
{
    boost::system::error_code ec;
    socket_.set_option(tcp::no_delay(true), ec);
    socket_.non_blocking(true, ec); // for write_at_once()
    if (core_->options.access_log) {
        auto const end = socket_.remote_endpoint(ec);
        peer_ = end.address().to_string() + ":" + std::to_string(end.port());
    }
    if (core_->tls) tls_.emplace(socket_, *core_->tls);
    core_->enter(*this);
}

connection::~connection()
{
    if (served_.parked) core_->abandon(*served_.parked, false);
    core_->bodies.hold(held_, 0);
    set_unsent(0);
    core_->leave(*this);
}

asio::awaitable<void> connection::run()
{
    bool go_on = true;
    if (tls_) go_on = co_await shake_hands();
    while (go_on && !closed_) {
        auto const found = parse();
        if (found == parsed::request) {
            begin();
            if (has_to_wait()) {
                go_on = co_await finish_slowly();
            } else {
                append_answer();
                go_on = answer_.keep_alive;
            }
            if (go_on && out_.size() < most_unwritten) continue;
        }
        if (!out_.empty() && core_->unsaved()) co_await kept();
        if (closed_) break;
        if (!write_at_once()) {
            hold_unsent();
            auto const sent = co_await write();
            set_unsent(0);
            if (!sent) break;
        }
        if (found == parsed::refused) {
            // With bytes unread a close would reset the connection, and the client might never see why.
            boost::system::error_code ec;
            socket_.shutdown(tcp::socket::shutdown_send, ec);
            deadline_ = core_->time.now() + core_->options.body_timeout;
            co_await swallow();
            break;
        }
        if (found != parsed::incomplete) continue;
        answer_.trim();
        if (!proven_ && core_->bodies.crowded(held_)) co_await room();
        if (closed_) break;
        go_on = co_await read();
    }
    close();
}

asio::awaitable<bool> connection::shake_hands()
{
    deadline_ = core_->time.now() + core_->options.handshake_timeout;
    auto const [ec] = co_await tls_->async_handshake(asio::ssl::stream_base::server, as_values);
    co_return !ec;
}

connection::transfer connection::read_some(asio::mutable_buffer room)
{
    return tls_ ? tls_->async_read_some(room, as_values) : socket_.async_read_some(room, as_values);
}

connection::transfer connection::write_all(asio::const_buffer bytes)
{
    return tls_ ? asio::async_write(*tls_, bytes, as_values) : asio::async_write(socket_, bytes, as_values);
}

connection::parsed connection::parse()
{
    if (!parser_) {
        request_.clear();
        if (!proven_) {
            request_.body.shrink_to_fit(); // what nobody counts must not stay
            hold(0);
        }
        header_seen_ = false;
        parser_.emplace(request_, core_->options.max_header_bytes, core_->options.max_body_bytes);
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
    if (in_.size() > core_->options.max_header_bytes) {
        refuse(http::error::header_limit);
        return parsed::refused;
    }
    in_request_ = parser_->got_some();
    wait_for(!in_request_               ? waiting_for::request
            : parser_->is_header_done() ? waiting_for::body
                                        : waiting_for::header);
    if (parser_->is_header_done() && !std::exchange(header_seen_, true) && !look_at_header()) return parsed::refused;
    if (!proven_) hold(request_.body.capacity() == std::string().capacity() ? 0 : request_.body.capacity());
    return parsed::incomplete;
}

/// Before the body is taken. False when the request is answered without it.
bool connection::look_at_header()
{
    bool const asks = boost::beast::iequals(request_.fields.find("expect"), "100-continue");
    if (!core_->broker.refuses(request_, core_->time.wall())) {
        if (asks) out_ += "HTTP/1.1 100 Continue\r\n\r\n";
        return true;
    }
    request_.body.clear();
    request_.body.shrink_to_fit();
    if (!asks) {
        parser_->drop_body(); // and answered when it has passed, so that the connection can go on
        return true;
    }
    begin();
    answer_.keep_alive = false;
    append_answer();
    return false;
}

/// A deadline begins with what is waited for, not with each of its pieces.
void connection::wait_for(waiting_for what)
{
    if (std::exchange(waiting_for_, what) == what) return;
    auto const& o = core_->options;
    switch (what) {
    case waiting_for::nothing: deadline_ = tick::max(); break;
    case waiting_for::request: deadline_ = core_->time.now() + o.idle_timeout; break;
    case waiting_for::header: deadline_ = core_->time.now() + o.header_timeout; break;
    case waiting_for::body: deadline_ = core_->time.now() + o.body_timeout; break;
    }
}

void connection::let_in()
{
    proven_ = true;
    hold(0);
}

void connection::hold(std::size_t bytes)
{
    bool const less = core_->bodies.hold(held_, bytes);
    if (less) core_->make_way();
}

/// Counts what a client that has proved nothing does not take of its answers.
void connection::hold_unsent()
{
    answer_.trim();
    if (proven_) return;
    set_unsent(out_.size());
    core_->limit_unsent(*this);
}

void connection::set_unsent(std::size_t bytes)
{
    core_->unsent_bytes = core_->unsent_bytes - unsent_ + bytes;
    unsent_ = bytes;
}

void connection::refuse(boost::system::error_code why)
{
    began_ = core_->time.now();
    served_ = {};
    answer_.clear();
    answer_.request_id = core_->request_ids.uuid();
    write_failure(fail(error::serialization, "The request is no valid HTTP: " + why.message() + "."), answer_);
    if (why == http::error::header_limit) answer_.status = 431;
    if (why == http::error::body_limit) answer_.status = 413;
    if (parser_->unsupported_coding()) answer_.status = 501;
    answer_.keep_alive = false;
    append_answer();
}

void connection::begin()
{
    in_request_ = true;
    wait_for(waiting_for::nothing);
    if (core_->options.access_log) began_ = core_->time.now();
    answer_.clear();
    answer_.request_id = core_->request_ids.uuid();
    answer_.keep_alive = parser_->keep_alive() && !core_->stopping();
    served_ = core_->broker.serve(request_, core_->origin, core_->now(), core_->time.wall(), answer_);
    if (served_.let_in && !proven_) let_in();
    if (request_.method == "HEAD") answer_.body.clear(); // a body would be taken for the next answer
    parser_.reset();
    if (served_.fault.what != transport_fault::none) ++core_->counters.faults;
    if (served_.parked) core_->park(*served_.parked, *this);
    core_->settle();
}

bool connection::has_to_wait() const
{
    return served_.parked || served_.fault.what != transport_fault::none || served_.fault.latency.count() != 0;
}

void connection::append_answer()
{
    write_answer(out_, answer_, core_->date());
    if (answer_.status >= 400) ++core_->counters.errors;
    record(answer_.request_id);
}

void connection::record(std::string_view request_id)
{
    core_->broker.count(served_.operation, answer_.status);
    core_->counters.request_bytes += request_.body.size();
    core_->counters.answer_bytes += answer_.body.size();
    if (!core_->options.access_log) return;
    access_record line;
    line.peer = peer_;
    line.operation = served_.operation;
    line.status = answer_.status;
    line.error_code = answer_.error_code();
    line.request_id = request_id;
    line.took = core_->time.now() - began_;
    line.request_bytes = request_.body.size();
    line.answer_bytes = answer_.body.size();
    core_->options.access_log(line);
}

/// True when nothing is left to write: the kernel takes a usual answer at once, without a turn of the event loop.
bool connection::write_at_once()
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

asio::awaitable<bool> connection::write()
{
    auto const left = asio::buffer(out_.data() + written_, out_.size() - written_);
    auto const after = std::exchange(deadline_, core_->time.now() + core_->options.body_timeout);
    auto const [ec, size] = co_await write_all(left);
    deadline_ = after;
    out_.clear();
    out_.shrink_to_fit(); // it was a large one
    written_ = 0;
    co_return !ec;
}

asio::awaitable<bool> connection::read()
{
    if (core_->stopping() && !in_request_) co_return false;
    if (in_.size() == 0 && in_.capacity() > largest_read) in_.shrink_to_fit();
    auto const expected = parser_->is_header_done() ? parser_->content_length_remaining().value_or(0) : 0;
    auto const room = std::clamp<std::size_t>(expected, usual_read, proven_ ? largest_read : usual_read);
    auto const [ec, size] = co_await read_some(in_.prepare(room));
    in_.commit(size);
    co_return !ec;
}

void connection::finish()
{
    if (!in_request_ && out_.empty()) close();
}

void connection::close()
{
    closed_ = true;
    set_unsent(0);
    hold(0);
    boost::system::error_code ignored;
    socket_.close(ignored);
    make_way();
    if (poll_ended_) poll_ended_->ring();
    if (saved_) saved_->ring();
    if (pause_) pause_->cancel();
}

} // namespace quern::broker
