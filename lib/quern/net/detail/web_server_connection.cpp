#include <quern/core/detail/text/date.hpp>

#include <quern/net/detail/as_values.hpp>
#include <quern/net/detail/web_server_core.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <utility>

namespace quern::net {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

namespace {

constexpr std::size_t one_read = 4 * 1024;
constexpr std::size_t most_swallowed = 256 * 1024;

std::string_view reason(int status)
{
    switch (status) {
    case 200: return "200 OK";
    case 400: return "400 Bad Request";
    case 403: return "403 Forbidden";
    case 404: return "404 Not Found";
    case 405: return "405 Method Not Allowed";
    case 413: return "413 Content Too Large";
    case 431: return "431 Request Header Fields Too Large";
    case 503: return "503 Service Unavailable";
    default: return "500 Internal Server Error";
    }
}

web_answer unreadable(boost::system::error_code why, std::string_view method, bool may_act)
{
    bool const has_body = why == http::error::body_limit;
    bool const looks = method == "GET" || method == "HEAD";
    web_answer out;
    out.status = why == http::error::header_limit ? 431 : !has_body ? 400 : looks || may_act ? 413 : 405;
    out.body = "The request is none that is answered here: " + why.message() + ".\n";
    return out;
}

} // namespace

web_server::connection::connection(std::shared_ptr<core> core, tcp::socket socket)
    : core_(std::move(core)), socket_(std::move(socket)), news_(core_->time, socket_.get_executor()),
      since_(core_->time.now()), deadline_(since_ + core_->options.header_timeout)
{
    boost::system::error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    core_->enter(*this);
    ++core_->counters.open;
}

web_server::connection::~connection()
{
    --core_->counters.open;
    core_->leave(*this);
}

asio::awaitable<void> web_server::connection::run()
{
    while (!closed_) {
        auto const what = parse();
        if (what == found::nothing_yet) {
            auto const more = co_await read();
            if (!more) break;
            continue;
        }
        if (what == found::request) begin_answer({});
        auto const sent = co_await write();
        if (!sent) break;
        if (follows_) {
            co_await follow();
            break;
        }
        if (keep_alive_) continue;
        co_await hang_up();
        break;
    }
    close();
}

web_server::connection::found web_server::connection::parse()
{
    if (!parser_) {
        request_.clear();
        parser_.emplace(request_, core_->options.max_header_bytes, core_->options.max_body_bytes);
        looked_at_ = false;
    }
    boost::system::error_code ec;
    while (in_.size() != 0 && !parser_->is_done()) {
        auto const used = parser_->read(in_.data(), ec);
        in_.consume(used);
        if (ec == http::error::need_more) ec = {};
        if (ec || used == 0) break;
    }
    if (!ec && in_.size() > core_->options.max_header_bytes) ec = http::error::header_limit;
    if (ec) {
        begin_answer(unreadable(ec, request_.method, core_->options.max_body_bytes != 0));
        return found::refused;
    }
    if (parser_->is_header_done() && !std::exchange(looked_at_, true)) {
        if (auto why_not = core_->refusal(request_)) {
            begin_answer(std::move(why_not));
            return found::refused;
        }
    }
    if (parser_->is_done()) return found::request;
    // A deadline begins with what is waited for, not with each of its pieces.
    if (!in_request_ && parser_->got_some()) {
        in_request_ = true;
        deadline_ = core_->time.now() + core_->options.header_timeout;
    }
    return found::nothing_yet;
}

/// Writes the answer to out_, headers and all.
void web_server::connection::begin_answer(std::optional<web_answer> why_not)
{
    keep_alive_ = !why_not && parser_->keep_alive();
    auto answer = why_not ? std::move(*why_not) : core_->answer(request_);
    bool const shown = request_.method != "HEAD" || answer.status >= 400;
    if (answer.follows && !core_->may_follow()) {
        answer = web_answer();
        answer.status = 503;
        answer.body = "Others follow already, as many as may.\n";
    }
    follows_ = answer.follows && shown;
    if (follows_) ++core_->counters.followers;
    if (answer.status >= 400 && answer.status != 404 && answer.status != 503) keep_alive_ = false;
    parser_.reset();
    in_request_ = false;

    out_.assign("HTTP/1.1 ").append(reason(answer.status));
    out_.append("\r\nDate: ").append(text::http_date(core_->time.wall()));
    out_.append("\r\nContent-Type: ").append(answer.content_type);
    if (!answer.follows) out_.append("\r\nContent-Length: ").append(std::to_string(answer.body.size()));
    out_.append("\r\nContent-Security-Policy: ").append(answer.content_security);
    out_.append("\r\nX-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin"
                "\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store");
    if (answer.status == 405) out_.append("\r\nAllow: ").append(answer.allow);
    if (!keep_alive_ || answer.follows) out_.append("\r\nConnection: close");
    out_.append("\r\n\r\n");
    if (request_.method != "HEAD") out_.append(answer.body);
    if (answer.follows && !follows_) keep_alive_ = false;
}

asio::awaitable<bool> web_server::connection::read()
{
    auto const room = in_.prepare(one_read);
    auto const [ec, size] = co_await socket_.async_read_some(room, as_values);
    in_.commit(size);
    co_return !ec;
}

asio::awaitable<bool> web_server::connection::write()
{
    writing_ = true;
    deadline_ = core_->time.now() + core_->options.write_timeout;
    set_unsent(out_.size());
    core_->limit_unsent(*this);
    auto const all = asio::buffer(out_);
    auto const [ec, size] = co_await asio::async_write(socket_, all, as_values);
    set_unsent(0);
    writing_ = false;
    out_.clear();
    if (out_.capacity() > most_swallowed) out_.shrink_to_fit(); // an idle connection holds no large answer
    deadline_ = core_->time.now() + core_->options.idle_timeout;
    co_return !ec;
}

asio::awaitable<void> web_server::connection::follow()
{
    while (!closed_) {
        deadline_ = tick::max();
        co_await news_.wait();
        if (closed_ || out_.empty()) continue;
        auto const sent = co_await write();
        if (!sent) break;
    }
}

void web_server::connection::tell(std::string_view piece)
{
    if (!follows_ || writing_ || !out_.empty()) return;
    out_.assign(piece);
    news_.ring();
}

/// With bytes unread a close would reset the connection, and the client might never see why.
asio::awaitable<void> web_server::connection::hang_up()
{
    boost::system::error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    deadline_ = core_->time.now() + core_->options.write_timeout;
    for (std::size_t total = 0; total < most_swallowed && !closed_;) {
        in_.clear();
        auto const room = in_.prepare(one_read);
        auto const [ec, size] = co_await socket_.async_read_some(room, as_values);
        if (ec) break;
        total += size;
    }
}

void web_server::connection::set_unsent(std::size_t bytes)
{
    core_->unsent = core_->unsent - unsent_ + bytes;
    unsent_ = bytes;
}

void web_server::connection::close()
{
    closed_ = true;
    set_unsent(0); // the write that is under way ends at once
    boost::system::error_code ignored;
    socket_.close(ignored);
    news_.ring();
}

} // namespace quern::net
