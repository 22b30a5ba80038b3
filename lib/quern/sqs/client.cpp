#include <quern/sqs/client.hpp>

#include <quern/aws/detail/host.hpp>
#include <quern/core/clock.hpp>
#include <quern/core/detail/throw_wrong.hpp>
#include <quern/core/error.hpp>
#include <quern/net/message.hpp>
#include <quern/sqs/detail/checksums.hpp>
#include <quern/sqs/detail/decode.hpp>
#include <quern/sqs/detail/encode.hpp>
#include <quern/sqs/detail/failures.hpp>
#include <quern/sqs/detail/lane_ledger.hpp>
#include <quern/sqs/limits.hpp>
#include <quern/sqs/request_observer.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <string_view>

namespace quern::sqs {

using namespace detail;
using namespace quern::detail;
namespace asio = boost::asio;

namespace {

/// A request under way, for whoever observes the client; without one it does nothing.
class request_watch {
public:
    request_watch(
        std::shared_ptr<request_observer> const& who, clock& time, std::string_view operation, std::size_t bytes)
        : who_(who.get()), time_(time)
    {
        if (!who_) return;
        seen_.operation = operation;
        seen_.bytes_sent = bytes;
        began_at_ = time_.now();
    }

    /// Where attempts are counted; null: nobody wants to know.
    int* attempts() { return who_ ? &seen_.attempts : nullptr; }

    void answered(net::response const& reply)
    {
        seen_.status = reply.status;
        seen_.bytes_received = reply.body.size();
        tell();
    }

    void failed(failure const& why)
    {
        seen_.status = why.http_status;
        seen_.why = &why;
        tell();
        seen_.why = nullptr; // it holds during the call
    }

private:
    void tell()
    {
        if (!who_) return;
        seen_.took = time_.now() - began_at_;
        try {
            who_->request_done(seen_);
        } catch (...) { // whoever waits for the answer must get it
        }
    }

    request_observer* const who_;
    clock& time_;
    observed_request seen_;
    tick began_at_{};
};

/// Whether carrying the request out twice is the same as once; see the class's "Retries".
template <class Request>
bool harmless_twice(Request const& request)
{
    constexpr bool is_harmless = !std::same_as<Request, purge_queue_request> && // messages sent in between
        !std::same_as<Request, start_message_move_task_request> &&              // refused: one runs already
        !std::same_as<Request, receive_message_request>; // messages of the first one would stay invisible
    auto const is_known_again = [](auto const& sent) { return sent.deduplication_id.has_value(); };
    if constexpr (std::same_as<Request, send_message_request>)
        return is_known_again(request);
    else if constexpr (std::same_as<Request, send_message_batch_request>)
        return std::ranges::all_of(request.entries, is_known_again);
    else
        return is_harmless;
}

template <class Request>
aws::detail::call_options travel(
    Request const& request, std::chrono::milliseconds timeout, std::chrono::milliseconds slack)
{
    aws::detail::call_options how;
    how.timeout = timeout;
    how.repeatable = harmless_twice(request);
    if constexpr (std::same_as<Request, receive_message_request>) {
        how.via = net::lane::data;
        how.timeout = request.wait_time.value_or(max_wait_time) + slack;
        how.long_poll = true;
    }
    return how;
}

template <class Request, class Response>
std::optional<failure> verify_answer(Request const& request, Response& answer)
{
    if constexpr (std::same_as<Request, send_message_request>)
        return verify(request, answer);
    else if constexpr (std::same_as<Request, receive_message_request>)
        verify(answer);
    else if constexpr (requires { verify(request, answer); })
        verify(request, answer);
    return {};
}

void note(net::response const& reply, failure& why)
{
    why.http_status = reply.status;
    why.request_id = reply.fields.find("x-amzn-requestid");
}

} // namespace

std::optional<failure> client_options::validate() const
{
    if (receive_slack.count() <= 0 || receive_slack > longest_wait)
        return failure(errc::invalid_option, "receive_slack: must be above zero, and a day at most");
    return aws::client_options::validate();
}

struct client::state final : aws::detail::host {
    state(asio::any_io_executor ex, client_options const& o, clock& real)
        : host(std::move(ex), aws::sqs_service, o, aws::detail::json_target(), real), receive_slack(o.receive_slack),
          observer(o.observer), verify_checksums(o.verify_checksums)
    {}

    std::chrono::milliseconds const receive_slack;
    std::shared_ptr<request_observer> const observer;
    bool const verify_checksums;
    decoder in;
};

struct client::address : aws::detail::host_address {
    explicit address(std::shared_ptr<state> const& lives)
        : host_address(lives),
          lanes(std::make_shared<lane_ledger>(lane_places{
              lives->options.connections.data_connections, lives->options.connections.control_connections}))
    {}

    std::shared_ptr<lane_ledger> const lanes;
};

/// An operation under way. What is the same for all of them is compiled once.
struct client::errand : aws::detail::errand {
    aws::detail::call_options how(aws::detail::host& in) final
    {
        auto const& own = static_cast<state&>(in);
        seen.emplace(own.observer, own.time, operation, body.size());
        auto out = travels(own.options.request_timeout, own.receive_slack);
        out.attempts = seen->attempts();
        return out;
    }

    void ended(aws::detail::host& in, result<net::response> reply) final
    {
        auto& own = static_cast<state&>(in);
        wrong = reply ? read(own.in, reply->body, own.verify_checksums) : refine(reply.error());
        if (wrong && reply) note(*reply, *wrong);
        if (wrong) seen->failed(*wrong);
        if (!wrong) seen->answered(*reply);
    }

    virtual aws::detail::call_options travels(
        std::chrono::milliseconds timeout, std::chrono::milliseconds slack) const = 0;
    virtual std::optional<failure> read(decoder&, std::string& body, bool verify_checksums) = 0;

    std::optional<failure> wrong = failure(errc::stopped, "the client is gone");

private:
    std::optional<request_watch> seen;
};

template <class Request>
struct client::errand_of final : errand {
    Request const request;
    typename Request::response out;

    explicit errand_of(Request what) : request(std::move(what)) { operation = Request::operation; }

    aws::detail::call_options travels(
        std::chrono::milliseconds timeout, std::chrono::milliseconds slack) const override
    {
        return travel(request, timeout, slack);
    }

    std::optional<failure> read(decoder& in, std::string& body, bool verify_checksums) override
    {
        auto answered = in.template read<typename Request::response>(body);
        if (!answered) return std::move(answered).error();
        out = std::move(*answered);
        if (verify_checksums) return verify_answer(request, out);
        return {};
    }
};

template <class Request>
answer<typename Request::response> client::carry_out(
    std::shared_ptr<address const> to, std::shared_ptr<errand_of<Request>> one)
{
    if constexpr (requires { check(one->request); }) {
        if (auto wrong = check(one->request)) co_return std::move(*wrong);
    }
    one->body = encode(one->request);
    auto work = aws::detail::carry_out(std::move(to), one);
    auto const done = co_await std::move(work);
    if (!done) co_return done.error();
    if (one->wrong) co_return std::move(*one->wrong);
    co_return std::move(one->out);
}

client::client(asio::any_io_executor ex, client_options options, clock& time)
{
    throw_wrong(options.validate());
    address_ = std::make_shared<address const>(std::make_shared<state>(std::move(ex), options, time));
}

client::~client()
{
    if (address_ && !is_guest_) address_->close(address::purpose::move_out);
}

client& client::operator=(client&& from) noexcept
{
    client moved(std::move(from));
    std::swap(address_, moved.address_);
    std::swap(is_guest_, moved.is_guest_);
    return *this;
}

void client::close()
{
    address_->close();
}

asio::any_io_executor client::get_executor() const
{
    return address_->strand();
}

std::shared_ptr<aws::credentials_provider> client::credentials() const
{
    std::shared_ptr<aws::credentials_provider> out;
    address_->visit([&](auto const& at) { out = at->options.credentials; });
    return out;
}

std::chrono::milliseconds client::clock_offset() const
{
    return address_->theirs->offset();
}

std::string_view client::region() const
{
    return address_->region;
}

lane_claim client::claim(lane_places wanted)
{
    return address_->lanes->claim(wanted);
}

net::endpoint const& client::endpoint() const
{
    return address_->peer;
}

net::client_counters client::counters() const
{
    net::client_counters out;
    address_->visit([&](auto const& at) { out = at->http.counters(); });
    return out;
}

template <class Request>
answer<typename Request::response> client::carry(Request request)
{
    return carry_out(address_, std::make_shared<errand_of<Request>>(std::move(request)));
}

std::shared_ptr<api> client::share() const
{
    return std::shared_ptr<api>(new client(address_));
}

template class forwarding_api<client>;

} // namespace quern::sqs
