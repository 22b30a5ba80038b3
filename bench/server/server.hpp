#pragma once

#include "connection.hpp"
#include "service.hpp"

#include <memory>
#include <vector>

namespace yardstick {

/// Sockets, one thread, epoll: everything between the kernel and the service. On 127.0.0.1 only.
class server {
public:
    /// Listens; throws std::runtime_error when it cannot.
    explicit server(options const& what);
    ~server();
    server(server const&) = delete;
    server& operator=(server const&) = delete;

    std::uint16_t port() const { return port_; }

    /// Serves until SIGTERM or SIGINT.
    void run();

private:
    struct guest {
        std::unique_ptr<connection> line;
        std::uint32_t serial = 0;
    };

    void listen(std::uint16_t port);
    void watch_signals();
    void watch(int fd, std::uint32_t events, int operation);
    void wait();
    void accept();
    void serve(int fd, std::uint32_t events);
    void converse(int fd);
    void send(peer to, std::string_view bytes);
    void close(int fd);

    int epoll_ = -1, listener_ = -1, signals_ = -1;
    std::uint16_t port_ = 0;
    bool stopping_ = false;
    std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> tls_;
    std::vector<guest> guests_; // by descriptor
    std::vector<int> again_;    // answered, and there may be another request
    std::vector<int> broken_;   // found so in the middle of something
    service service_;
};

} // namespace yardstick
