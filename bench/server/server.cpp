#include "server.hpp"

#include <openssl/err.h>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <stdexcept>

namespace yardstick {

namespace {

micros now()
{
    std::timespec time{};
    ::clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec * second + time.tv_nsec / 1000;
}

int checked(int result, char const* what)
{
    if (result < 0) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
    return result;
}

SSL_CTX* make_tls(options const& what)
{
    if (what.certificate.empty()) return nullptr;
    auto* tls = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
    SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (SSL_CTX_use_certificate_chain_file(tls, what.certificate.c_str()) != 1 ||
        SSL_CTX_use_PrivateKey_file(tls, what.key.c_str(), SSL_FILETYPE_PEM) != 1)
        throw std::runtime_error("--certificate, --key: " + std::string(ERR_error_string(ERR_get_error(), nullptr)));
    return tls;
}

} // namespace

server::server(options const& what)
    : tls_(make_tls(what), SSL_CTX_free), service_(what, [this](peer to, std::string_view bytes) { send(to, bytes); })
{
    ::prctl(PR_SET_TIMERSLACK, 1000); // ns; the usual 50 us would be a part of every latency
    epoll_ = checked(::epoll_create1(EPOLL_CLOEXEC), "epoll");
    watch_signals();
    listen(what.port);
}

server::~server()
{
    for (auto const fd : {epoll_, listener_, signals_})
        ::close(fd);
}

void server::watch_signals()
{
    sigset_t which;
    sigemptyset(&which);
    sigaddset(&which, SIGTERM);
    sigaddset(&which, SIGINT);
    ::sigprocmask(SIG_BLOCK, &which, nullptr);
    signals_ = checked(::signalfd(-1, &which, SFD_CLOEXEC), "signalfd");
    watch(signals_, EPOLLIN, EPOLL_CTL_ADD);
}

void server::listen(std::uint16_t port)
{
    listener_ = checked(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");
    int const yes = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    checked(::bind(listener_, reinterpret_cast<sockaddr*>(&at), sizeof at), "--port");
    checked(::listen(listener_, 4096), "listen");
    socklen_t size = sizeof at;
    checked(::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size), "getsockname");
    port_ = ntohs(at.sin_port);
    watch(listener_, EPOLLIN, EPOLL_CTL_ADD);
}

void server::watch(int fd, std::uint32_t events, int operation)
{
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    checked(::epoll_ctl(epoll_, operation, fd, &event), "epoll_ctl");
}

void server::run()
{
    while (!stopping_) {
        wait();
        service_.tick(now());
        while (!again_.empty()) {
            auto const fd = again_.back();
            again_.pop_back();
            converse(fd);
        }
        for (auto const fd : broken_)
            close(fd);
        broken_.clear();
    }
}

void server::wait()
{
    std::array<epoll_event, 256> events;
    std::timespec left{}, *limit = nullptr;
    auto const time = now();
    if (auto const at = service_.next(time)) {
        auto const micros_left = std::max<micros>(0, *at - time);
        left = {micros_left / second, (micros_left % second) * 1000};
        limit = &left;
    }
    auto const many = ::epoll_pwait2(epoll_, events.data(), events.size(), limit, nullptr);
    for (int i = 0; i < many; ++i) {
        auto const& event = events[static_cast<std::size_t>(i)];
        if (event.data.fd == signals_)
            stopping_ = true;
        else if (event.data.fd == listener_)
            accept();
        else
            serve(event.data.fd, event.events);
    }
}

void server::accept()
{
    for (;;) {
        auto const fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) return;
        int const yes = 1;
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        auto const at = static_cast<std::size_t>(fd);
        if (guests_.size() <= at) guests_.resize(at + 1);
        guests_[at].line = std::make_unique<connection>(fd, tls_.get());
        ++guests_[at].serial;
        ++service_.connections;
        watch(fd, EPOLLIN, EPOLL_CTL_ADD);
    }
}

void server::serve(int fd, std::uint32_t events)
{
    auto* const line = guests_[static_cast<std::size_t>(fd)].line.get();
    if (!line) return;
    if (events & EPOLLOUT) {
        if (!line->flush()) return broken_.push_back(fd);
        if (!line->has_unsent()) watch(fd, EPOLLIN, EPOLL_CTL_MOD);
    }
    if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR))) return;
    if (!line->read()) return broken_.push_back(fd);
    converse(fd);
}

void server::converse(int fd)
{
    auto& [line, serial] = guests_[static_cast<std::size_t>(fd)];
    if (!line || line->answering) return;
    auto const data = line->received();
    if (data.empty()) return;
    auto const head = read_head(data);
    if (!head) return;
    if (!head->understood) return broken_.push_back(fd);
    if (data.size() < head->head + head->body) {
        if (head->expects && data.size() == head->head && !line->send("HTTP/1.1 100 Continue\r\n\r\n"))
            broken_.push_back(fd);
        return;
    }
    line->answering = true;
    line->closing = head->close;
    service_.request({fd, serial, line->is_tls()}, *head, data.substr(head->head, head->body), now());
    if (line) line->consume(head->head + head->body);
}

void server::send(peer to, std::string_view bytes)
{
    auto& [line, serial] = guests_[static_cast<std::size_t>(to.fd)];
    if (!line || serial != to.serial) return; // it left before its answer came
    bool const waited = line->has_unsent();
    if (!line->send(bytes)) return broken_.push_back(to.fd);
    if (line->has_unsent() && !waited) watch(to.fd, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
    line->answering = false;
    if (line->closing)
        broken_.push_back(to.fd);
    else if (!line->received().empty())
        again_.push_back(to.fd);
}

void server::close(int fd)
{
    auto& [line, serial] = guests_[static_cast<std::size_t>(fd)];
    if (!line) return;
    service_.gone({fd, serial});
    line.reset();
    --service_.connections;
}

} // namespace yardstick
