#include "connection.hpp"

#include <openssl/err.h>
#include <simdjson.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace yardstick {

namespace {

constexpr std::size_t piece = 32 * 1024;

bool would_block(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

} // namespace

connection::connection(int fd, SSL_CTX* tls) : fd_(fd), ssl_(tls ? SSL_new(tls) : nullptr, SSL_free)
{
    if (!ssl_) return;
    SSL_set_fd(ssl_.get(), fd);
    SSL_set_accept_state(ssl_.get());
}

connection::~connection()
{
    ::close(fd_);
}

long connection::get(char* to, std::size_t room)
{
    if (!ssl_) {
        auto const got = ::recv(fd_, to, room, 0);
        if (got > 0) return got;
        return got < 0 && would_block(errno) ? 0 : -1;
    }
    ERR_clear_error();
    auto const got = SSL_read(ssl_.get(), to, static_cast<int>(room));
    if (got > 0) return got;
    auto const why = SSL_get_error(ssl_.get(), got);
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

long connection::put(std::string_view bytes)
{
    if (!ssl_) {
        auto const put = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (put >= 0) return put;
        return would_block(errno) ? 0 : -1;
    }
    ERR_clear_error();
    auto const put = SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
    if (put > 0) return put;
    auto const why = SSL_get_error(ssl_.get(), put);
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

bool connection::read()
{
    for (;;) {
        if (in_.size() < end_ + piece + simdjson::SIMDJSON_PADDING)
            in_.resize(end_ + 2 * piece + simdjson::SIMDJSON_PADDING);
        auto const got = get(in_.data() + end_, piece);
        if (got < 0) return false;
        end_ += static_cast<std::size_t>(got);
        // What OpenSSL has decrypted is no longer in the socket, which would say that there is more.
        if (got == 0 || !ssl_) return true;
    }
}

bool connection::send(std::string_view bytes)
{
    if (!unsent_.empty()) {
        unsent_ += bytes;
        return true;
    }
    while (!bytes.empty()) {
        auto const sent = put(bytes);
        if (sent < 0) return false;
        if (sent == 0) break;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    unsent_ = bytes;
    return true;
}

bool connection::flush()
{
    auto const bytes = std::move(unsent_);
    unsent_.clear();
    return send(bytes);
}

void connection::consume(std::size_t bytes)
{
    begin_ += bytes;
    if (begin_ == end_) {
        begin_ = end_ = 0;
    } else if (begin_ > piece) {
        std::memmove(in_.data(), in_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
}

} // namespace yardstick
