#include <quern/sqs/client.hpp>

#include <quern/aws/detail/host.hpp>
#include <quern/core/detail/throw_wrong.hpp>
#include <quern/sqs/detail/checksums.hpp>
#include <quern/sqs/detail/decode.hpp>
#include <quern/sqs/detail/encode.hpp>
#include <quern/sqs/detail/failures.hpp>
#include <quern/sqs/detail/request_watch.hpp>
#include <quern/sqs/limits.hpp>

#include <algorithm>

namespace quern::sqs {

namespace asio = boost::asio;

namespace {

/// Whether carrying the request out twice is the same as once; see the class's "Retries".
template <class Request>
bool harmless_twice(Request const&)
{
    return true;
}
bool harmless_twice(send_message_request const& r)
{
    return r.deduplication_id.has_value();
}
bool harmless_twice(send_message_batch_request const& r)
{
    return std::ranges::all_of(r.entries, [](auto const& entry) { return entry.deduplication_id.has_value(); });
}
bool harmless_twice(purge_queue_request const&)
{
    return false; // messages sent in between
}
bool harmless_twice(start_message_move_task_request const&)
{
    return false; // refused: a task is running already
}

template <class Request>
aws::call_options travel(Request const& request, std::chrono::milliseconds timeout, std::chrono::milliseconds)
{
    aws::call_options how;
    how.timeout = timeout;
    how.repeatable = harmless_twice(request);
    return how;
}

aws::call_options travel(
    receive_message_request const& request, std::chrono::milliseconds, std::chrono::milliseconds slack)
{
    aws::call_options how;
    how.via = net::lane::data;
    how.timeout = request.wait_time.value_or(max_wait_time) + slack;
    how.long_poll = true;
    how.repeatable = false; // messages of the first one would stay invisible
    return how;
}

template <class Request, class Response>
std::optional<failure> verify_answer(Request const& request, Response& answer)
{
    if constexpr (requires { verify(request, answer); }) verify(request, answer);
    return {};
}
std::optional<failure> verify_answer(send_message_request const& request, send_message_response& answer)
{
    return verify(request, answer);
}
std::optional<failure> verify_answer(receive_message_request const&, receive_message_response& answer)
{
    verify(answer);
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

struct client::state final : aws::host {
    state(asio::any_io_executor ex, client_options const& o, clock& real)
        : host(std::move(ex), aws::sqs_service, o, aws::json_target(), real), receive_slack(o.receive_slack),
          observer(o.observer), verify_checksums(o.verify_checksums)
    {}

    std::chrono::milliseconds const receive_slack;
    std::shared_ptr<request_observer> const observer;
    bool const verify_checksums;
    decoder in;
};

struct client::address : aws::host_address {
    explicit address(std::shared_ptr<state> const& lives)
        : host_address(lives),
          lanes(std::make_shared<lane_ledger>(lane_places{
              lives->options.connections.data_connections, lives->options.connections.control_connections}))
    {}

    std::shared_ptr<lane_ledger> const lanes;
};

/// An operation under way. What is the same for all of them is compiled once.
struct client::errand : aws::errand {
    aws::call_options how(aws::host& in) final
    {
        auto const& own = static_cast<state&>(in);
        seen.emplace(own.observer, own.time, operation, body.size());
        auto out = travels(own.options.request_timeout, own.receive_slack);
        out.attempts = seen->attempts();
        return out;
    }

    void ended(aws::host& in, result<net::response> reply) final
    {
        auto& own = static_cast<state&>(in);
        wrong = reply ? read(own.in, reply->body, own.verify_checksums) : refine(reply.error());
        if (wrong && reply) note(*reply, *wrong);
        if (wrong) seen->failed(*wrong);
        if (!wrong) seen->answered(*reply);
    }

    virtual aws::call_options travels(std::chrono::milliseconds timeout, std::chrono::milliseconds slack) const = 0;
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

    aws::call_options travels(std::chrono::milliseconds timeout, std::chrono::milliseconds slack) const override
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
    auto work = aws::carry_out(std::move(to), one);
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
    if (address_) address_->close(address::purpose::move_out);
}

client& client::operator=(client&& from) noexcept
{
    client moved(std::move(from));
    std::swap(address_, moved.address_);
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

/// The client for those who may be there longer than it.
class client::visitor final : public forwarding_api<visitor> {
public:
    explicit visitor(std::shared_ptr<address const> of) : of_(std::move(of)) {}

    std::chrono::milliseconds clock_offset() const override { return of_->theirs->offset(); }
    std::string_view region() const override { return of_->region; }
    lane_claim claim(lane_places wanted) override { return of_->lanes->claim(wanted); }
    std::shared_ptr<api> share() const override { return std::make_shared<visitor>(of_); }

    template <class Request>
    answer<typename Request::response> carry(Request request)
    {
        return carry_out(of_, std::make_shared<errand_of<Request>>(std::move(request)));
    }

private:
    std::shared_ptr<address const> const of_;
};

std::shared_ptr<api> client::share() const
{
    return std::make_shared<visitor>(address_);
}

template class forwarding_api<client>;

} // namespace quern::sqs
