// The floor: what any correct consumer has to do for a message, and nothing else.
//
// An epoll loop. A connection, over TLS where the server wants it, sends a signed receive, reads its ten messages,
// compares their digests, hands them to the handler, copies their handles, and deletes them in one signed call. Where
// handlers ask a service, each of the ten does so on a connection of its own before the delete. No lease is kept,
// nothing is retried, no time is measured: whatever is unusual ends the program. The signatures and MD5 are Quern's
// own, so that what Quern costs above this is what it does besides.
#include "contender.hpp"

#include <quern/aws/detail/signing/json_signer.hpp>
#include <quern/core/detail/md5.hpp>
#include <quern/core/detail/text/digest.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <simdjson.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

using namespace quern::aws::detail;

namespace {

using bench::number;
using bench::variable;
namespace od = simdjson::ondemand;

volatile std::sig_atomic_t is_over = 0;

int checked(int result, char const* what)
{
    if (result < 0) throw std::system_error(errno, std::generic_category(), what);
    return result;
}

sockaddr_in loopback(std::string_view authority)
{
    if (!authority.starts_with("127.0.0.1:")) throw std::runtime_error("only 127.0.0.1 is spoken to");
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = htons(static_cast<std::uint16_t>(number(authority.substr(10))));
    out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return out;
}

int connected(sockaddr_in const& to)
{
    auto const out = checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    checked(::connect(out, reinterpret_cast<sockaddr const*>(&to), sizeof to), "connect");
    int const yes = 1;
    checked(::setsockopt(out, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes), "TCP_NODELAY");
    return out;
}

void send_all(int socket, std::string_view text)
{
    auto const sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL); // blocks until all of it is sent
    if (sent != static_cast<ssize_t>(text.size())) throw std::system_error(errno, std::generic_category(), "send");
}

/// Settings of TLS, where the server wants that.
struct tls {
    tls()
    {
        if (SSL_CTX_load_verify_file(of.get(), variable("AWS_CA_BUNDLE", "").c_str()) != 1)
            throw std::runtime_error("AWS_CA_BUNDLE: not a file of certificates");
        SSL_CTX_set_verify(of.get(), SSL_VERIFY_PEER, nullptr);
        SSL_CTX_set_read_ahead(of.get(), 1); // else each record is read twice
    }

    std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> of{SSL_CTX_new(TLS_client_method()), &SSL_CTX_free};
};

struct peer {
    std::string url = variable("AWS_ENDPOINT_URL_SQS", "");
    bool is_secret = url.starts_with("https://");
    std::string authority = url.substr(is_secret ? 8 : 7, url.find('/', 8) - (is_secret ? 8 : 7));
    sockaddr_in address = loopback(authority);
};

class loop {
public:
    void run();

    bench::tally seen;

private:
    /// Connection that epoll tells of: to SQS, or to the service.
    struct connection {
        int socket = -1;
        connection* asks_for = nullptr; ///< one to the service: whose message the question is about
        bool is_receiving = false;      ///< else it is deleting
        std::size_t asked = 0;          ///< questions without an answer
        std::unique_ptr<SSL, decltype(&SSL_free)> secret{nullptr, &SSL_free};
        std::vector<std::string> handles; ///< of the messages in hand
        std::string in;
        std::size_t got = 0;
    };

    void open(connection&);
    void receive(connection&);
    void remove(connection&);
    void ask(connection&);
    void answered(connection&);
    void watch(connection&);
    void send(connection&, std::string const& text);
    std::size_t some(connection&);
    void read(connection&);
    void answer(connection&, std::string_view body, std::size_t room);
    void messages(connection&, od::document);

    quern::wall_time now() const { return std::chrono::system_clock::now(); }

    peer const where_{};
    std::string const queue_ = variable("BENCH_QUEUE_URL", "");
    quern::aws::credentials const who_{variable("AWS_ACCESS_KEY_ID", ""), variable("AWS_SECRET_ACCESS_KEY", ""), ""};
    std::string const poll_ = R"({"QueueUrl":")" + queue_ +
        R"(","MessageSystemAttributeNames":["ApproximateReceiveCount","ApproximateFirstReceiveTimestamp"],)" +
        R"("MessageAttributeNames":["All"],"MaxNumberOfMessages":10,"VisibilityTimeout":30,"WaitTimeSeconds":20})";
    json_signer signer_ = [this] {
        json_target target;
        target.host = where_.authority;
        target.region = variable("AWS_REGION", "us-east-1");
        return json_signer(std::move(target));
    }();
    int const events_ = checked(epoll_create1(0), "epoll_create1");
    std::optional<tls> tls_ = where_.is_secret ? std::make_optional<tls>() : std::nullopt;
    std::string const service_ = variable("BENCH_ASK", "");
    std::deque<connection> connections_, to_service_;
    std::vector<connection*> idle_;
    std::size_t busy_ = 0;
    od::parser parser_;
    std::vector<std::string_view> bodies_, digests_;
    std::string body_;
};

void loop::run()
{
    connections_.resize(std::max<std::uint64_t>(1, number(variable("BENCH_IN_FLIGHT", "320")) / 10));
    for (auto& one : connections_)
        open(one);
    std::puts("ready");
    std::fflush(stdout);
    for (std::array<epoll_event, 64> ready; busy_ > 0;) {
        auto const count = epoll_wait(events_, ready.data(), static_cast<int>(ready.size()), -1);
        if (count < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "epoll_wait");
        for (int i = 0; i < count; ++i)
            answered(*static_cast<connection*>(ready[static_cast<std::size_t>(i)].data.ptr));
    }
}

void loop::open(connection& on)
{
    on.socket = connected(where_.address);
    on.in.resize(64 * 1024);
    if (tls_) {
        on.secret.reset(SSL_new(tls_->of.get()));
        SSL_set_fd(on.secret.get(), on.socket);
        if (SSL_connect(on.secret.get()) != 1) throw std::runtime_error("no TLS with " + where_.authority);
        checked(::fcntl(on.socket, F_SETFL, O_NONBLOCK), "O_NONBLOCK");
    }
    watch(on);
    ++busy_;
    receive(on);
}

void loop::watch(connection& on)
{
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &on;
    checked(epoll_ctl(events_, EPOLL_CTL_ADD, on.socket, &event), "epoll_ctl");
}

void loop::ask(connection& on)
{
    if (idle_.empty()) {
        idle_.push_back(&to_service_.emplace_back());
        idle_.back()->socket = connected(loopback(service_));
        watch(*idle_.back());
    }
    idle_.back()->asks_for = &on;
    send_all(idle_.back()->socket, "POST /hook HTTP/1.1\r\nHost: service\r\nContent-Length: 0\r\n\r\n");
    idle_.pop_back();
    ++on.asked;
}

void loop::answered(connection& by)
{
    if (!by.asks_for) return read(by);
    char answer[1024];
    auto const got = ::recv(by.socket, answer, sizeof answer, 0);
    if (got < 4 || !std::string_view(answer, static_cast<std::size_t>(got)).ends_with("\r\n\r\n"))
        throw std::runtime_error("the service answers in pieces, or not at all");
    idle_.push_back(&by);
    if (--by.asks_for->asked == 0) remove(*by.asks_for);
}

void loop::receive(connection& on)
{
    on.is_receiving = true;
    on.handles.clear();
    send(on, signer_.poll("ReceiveMessage", poll_, who_, now()));
}

void loop::remove(connection& on)
{
    on.is_receiving = false;
    body_.assign(R"({"QueueUrl":")").append(queue_).append(R"(","Entries":[)");
    for (std::size_t i = 0; i < on.handles.size(); ++i) {
        body_.append(i == 0 ? R"({"Id":")" : R"(,{"Id":")").append(std::to_string(i));
        body_.append(R"(","ReceiptHandle":")").append(on.handles[i]).append("\"}");
    }
    body_.append("]}");
    send(on, signer_.request("DeleteMessageBatch", body_, who_, now()));
}

void loop::send(connection& on, std::string const& text)
{
    if (!on.secret) return send_all(on.socket, text);
    if (SSL_write(on.secret.get(), text.data(), static_cast<int>(text.size())) != static_cast<int>(text.size()))
        throw std::runtime_error("TLS: not all was sent");
}

/// The bytes that came, into what is free; 0: none yet.
std::size_t loop::some(connection& on)
{
    auto const room = on.in.size() - on.got - simdjson::SIMDJSON_PADDING;
    if (!on.secret) {
        auto const count = ::recv(on.socket, on.in.data() + on.got, room, 0);
        if (count <= 0) throw std::system_error(errno, std::generic_category(), "recv");
        return static_cast<std::size_t>(count);
    }
    auto const count = SSL_read(on.secret.get(), on.in.data() + on.got, static_cast<int>(room));
    if (count > 0) return static_cast<std::size_t>(count);
    if (SSL_get_error(on.secret.get(), count) != SSL_ERROR_WANT_READ)
        throw std::runtime_error("TLS: nothing to read");
    return 0;
}

void loop::read(connection& on)
{
    do {
        if (on.in.size() - on.got < 32 * 1024) on.in.resize(2 * on.in.size());
        auto const count = some(on);
        if (count == 0) return;
        on.got += count;
    } while (on.secret && SSL_pending(on.secret.get()) > 0);

    constexpr std::string_view length = "content-length: ", end = "\r\n\r\n";
    auto const text = std::string_view(on.in).substr(0, on.got);
    auto const head = text.substr(0, text.find(end));
    if (head.size() == text.size()) return;
    auto const at = std::search(head.begin(), head.end(), length.begin(), length.end(),
        [](char a, char b) { return (a | 0x20) == (b | 0x20); });
    if (!head.starts_with("HTTP/1.1 200 ") || at == head.end())
        throw std::runtime_error("answered: " + std::string(text));
    auto const size = number({at + length.size(), head.end()});
    auto const body = text.substr(head.size() + end.size());
    if (body.size() < size) return;
    if (body.size() > size) throw std::runtime_error("an answer has something behind it");
    on.got = 0;
    answer(on, body, on.in.size() - head.size() - end.size());
}

void loop::answer(connection& on, std::string_view body, std::size_t room)
{
    od::document all = parser_.iterate(body.data(), body.size(), room);
    if (on.is_receiving) {
        messages(on, std::move(all));
    } else {
        std::size_t done = 0;
        for (auto one : all["Successful"])
            done += one["Id"].get_string().value().size() > 0;
        if (done != on.handles.size()) throw std::runtime_error("not all were deleted: " + std::string(body));
        seen.handled += done;
        on.handles.clear();
    }
    if (!on.handles.empty() && !service_.empty()) {
        for (std::size_t i = 0; i < on.handles.size(); ++i)
            ask(on);
        return;
    }
    if (!on.handles.empty()) return remove(on);
    if (!is_over) return receive(on);
    ::close(on.socket);
    --busy_;
}

void loop::messages(connection& on, od::document all)
{
    bodies_.clear();
    digests_.clear();
    for (auto answered : all.get_object()) {
        if (answered.key() != "Messages") continue;
        for (auto message : answered.value().get_array()) {
            for (auto part : message.get_object()) {
                auto const name = part.key().value();
                if (name == "ReceiptHandle") on.handles.emplace_back(part.value().get_string().value());
                if (name == "MD5OfBody") digests_.push_back(part.value().get_string());
                if (name == "Body") bodies_.push_back(part.value().get_string());
            }
        }
    }
    if (on.handles.size() != bodies_.size() || digests_.size() != bodies_.size() || bodies_.size() > 10)
        throw std::runtime_error("a message without one of its parts");
    std::array<quern::detail::md5_digest, 10> ours;
    quern::detail::md5(bodies_, ours);
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
        if (digests_[i] != quern::detail::text::hex_text(ours[i])) throw std::runtime_error("a message is damaged");
        seen.meet(bodies_[i]);
        number(bodies_[i].substr(17));
    }
}

} // namespace

int main()
try {
    struct sigaction end {};
    end.sa_handler = [](int) { is_over = 1; };
    end.sa_flags = SA_RESTART; // all but epoll_wait
    sigaction(SIGTERM, &end, nullptr);
    sigaction(SIGINT, &end, nullptr);
    loop all;
    all.run();
    all.seen.report("floor " QUERN_VERSION);
} catch (std::exception const& e) {
    std::fprintf(stderr, "floor: %s\n", e.what());
    return 1;
}
