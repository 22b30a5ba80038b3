#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace yardstick {

/// A socket that does not block, with TLS or without, and what was read from it and not understood yet.
class connection {
public:
    /// Owns `fd`. `tls` may be null.
    connection(int fd, SSL_CTX* tls);
    ~connection();
    connection(connection const&) = delete;
    connection& operator=(connection const&) = delete;

    /// Reads what has arrived; false when the connection is over.
    [[nodiscard]] bool read();
    /// Sends as much as goes, the rest with later flush()es; false when the connection is over.
    [[nodiscard]] bool send(std::string_view bytes);
    [[nodiscard]] bool flush();
    bool has_unsent() const { return !unsent_.empty(); }

    /// The bytes read; they have simdjson's padding behind them.
    std::string_view received() const { return {in_.data() + begin_, end_ - begin_}; }
    void consume(std::size_t bytes);

    int fd() const { return fd_; }
    bool is_tls() const { return ssl_ != nullptr; }

    bool answering = false; ///< a request was taken from it and is not answered yet
    bool closing = false;   ///< to be closed behind the next answer

private:
    /// Bytes written or read, 0 when it would block, negative when the connection is over.
    long put(std::string_view bytes);
    long get(char* to, std::size_t room);

    int fd_;
    std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
    std::vector<char> in_;
    std::size_t begin_ = 0, end_ = 0;
    std::string unsent_;
};

} // namespace yardstick
