// The floor: what any correct consumer has to do for a message, and nothing else.
//
// An epoll loop over plain HTTP. A connection sends a signed receive, reads its ten messages, compares their digests,
// hands them to the handler, copies their handles, and deletes them in one signed call. No lease is kept, nothing is
// retried, nobody waits: whatever is unusual ends the program. The signatures and MD5 are Quern's own, so that what
// Quern costs above this is what it does besides.
#include "contender.hpp"

#include <quern/aws/detail/signing/json_signer.hpp>
#include <quern/core/detail/md5.hpp>
#include <quern/core/detail/text/digest.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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

struct peer {
    std::string url = variable("AWS_ENDPOINT_URL_SQS", "");
    std::string authority;
    sockaddr_in address{};

    peer()
    {
        if (!url.starts_with("http://127.0.0.1:"))
            throw std::runtime_error("only http://127.0.0.1:PORT is spoken to");
        authority = url.substr(7, url.find('/', 7) - 7);
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(number(std::string_view(authority).substr(10))));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
};

class plain_loop {
public:
    void run();

    bench::tally seen;

private:
    struct connection {
        int socket = -1;
        bool is_receiving = false;        ///< else it is deleting
        std::vector<std::string> handles; ///< of the messages in hand
        std::string in = std::string(64 * 1024, '\0');
        std::size_t got = 0;
    };

    void open(connection&);
    void receive(connection&);
    void remove(connection&);
    void send(connection&, std::string const& text);
    void read(connection&);
    void answer(connection&, std::string_view body, std::size_t room);
    void messages(connection&, od::document);

    quern::wall_time now() const { return std::chrono::system_clock::now(); }

    peer const where_;
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
    std::deque<connection> connections_;
    std::size_t busy_ = 0;
    od::parser parser_;
    std::vector<std::string_view> bodies_, digests_;
    std::string body_;
};

void plain_loop::run()
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
            read(*static_cast<connection*>(ready[static_cast<std::size_t>(i)].data.ptr));
    }
}

void plain_loop::open(connection& on)
{
    on.socket = checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    checked(
        ::connect(on.socket, reinterpret_cast<sockaddr const*>(&where_.address), sizeof where_.address), "connect");
    int const yes = 1;
    checked(::setsockopt(on.socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes), "TCP_NODELAY");
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &on;
    checked(epoll_ctl(events_, EPOLL_CTL_ADD, on.socket, &event), "epoll_ctl");
    ++busy_;
    receive(on);
}

void plain_loop::receive(connection& on)
{
    on.is_receiving = true;
    on.handles.clear();
    send(on, signer_.poll("ReceiveMessage", poll_, who_, now()));
}

void plain_loop::remove(connection& on)
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

void plain_loop::send(connection& on, std::string const& text)
{
    auto const sent = ::send(on.socket, text.data(), text.size(), MSG_NOSIGNAL); // blocks until all of it is sent
    if (sent != static_cast<ssize_t>(text.size())) throw std::system_error(errno, std::generic_category(), "send");
}

void plain_loop::read(connection& on)
{
    if (on.in.size() - on.got < 32 * 1024) on.in.resize(2 * on.in.size());
    auto const count =
        ::recv(on.socket, on.in.data() + on.got, on.in.size() - on.got - simdjson::SIMDJSON_PADDING, 0);
    if (count <= 0) throw std::system_error(errno, std::generic_category(), "recv");
    on.got += static_cast<std::size_t>(count);

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

void plain_loop::answer(connection& on, std::string_view body, std::size_t room)
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
    if (!on.handles.empty()) return remove(on);
    if (!is_over) return receive(on);
    ::close(on.socket);
    --busy_;
}

void plain_loop::messages(connection& on, od::document all)
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
    plain_loop all;
    all.run();
    all.seen.report("floor " QUERN_VERSION);
} catch (std::exception const& e) {
    std::fprintf(stderr, "floor: %s\n", e.what());
    return 1;
}
