#include <quern/sim/network.hpp>

#include <quern/core/alarm.hpp>
#include <quern/sim/detail/recorder.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <exception>
#include <optional>

namespace quern::sim {

namespace asio = boost::asio;
using broker::transport_fault;
using std::chrono::milliseconds;

namespace {

asio::awaitable<void> pass(clock& time, milliseconds d)
{
    if (d.count() == 0) co_return;
    auto const timer = time.make_timer(co_await asio::this_coro::executor);
    co_await timer->wait_until(time.now() + d);
}

/// As the service words it; that nothing may be retried is the client's reading of it.
failure expired()
{
    failure why(errc::service_error, "The security token included in the request is expired (simulated)");
    why.service_code = "ExpiredTokenException";
    why.http_status = 403;
    why.sender_fault = true;
    return why;
}

/// As the client hands on an answer whose messages lack what settles them.
sqs::receive_message_response without_handles()
{
    sqs::receive_message_response out;
    out.damaged.push_back({0, {}, failure(errc::bad_reply, "MessageId is missing (simulated)")});
    return out;
}

failure refusal(broker::request_fault const& fault)
{
    failure why(errc::connection_lost, "connection lost (simulated)", true);
    if (fault.what == transport_fault::throttled) {
        why = failure(errc::throttled, "too fast (simulated)", true);
        why.service_code = "RequestThrottled";
        why.http_status = 403;
    } else if (fault.what == transport_fault::access_denied) {
        why = failure(errc::service_error, "access denied (simulated)");
        why.service_code = "AccessDenied";
        why.http_status = 403;
        why.sender_fault = true;
    } else if (fault.what == transport_fault::server_error) {
        why = failure(errc::service_error, "service failed (simulated)", true);
        why.service_code = "InternalFailure";
        why.http_status = fault.http_status;
    }
    return why;
}

template <class Request, class Response>
void tell(service_observer* who, Request const& asked, Response const& done, tick sent_at)
{
    if (!who) return;
    if constexpr (std::same_as<Request, sqs::receive_message_request>)
        who->received(asked, done);
    else if constexpr (std::same_as<Request, sqs::delete_message_batch_request>)
        who->deleted(asked, done);
    else if constexpr (std::same_as<Request, sqs::change_message_visibility_batch_request>)
        who->changed(asked, done, sent_at);
    else if constexpr (std::same_as<Request, sqs::send_message_batch_request>)
        who->sent(asked, done);
}

} // namespace

/// A request on its way. The process may be gone when the answer comes.
template <class Response>
struct network::flight {
    alarm* bell = nullptr; ///< of whoever waits
    std::optional<result<Response>> answer;
    bool fair = true; ///< nothing happens to it on its way

    void land(result<Response> got)
    {
        answer.emplace(std::move(got));
        if (bell) bell->ring();
    }
};

network::network(place service, milliseconds request_timeout)
    : service_(std::move(service)), request_timeout_(request_timeout)
{}

template <class Request>
asio::awaitable<void> network::travel(place to, std::shared_ptr<flight<typename Request::response>> with,
    Request request, broker::request_fault fault, lie instead)
{
    auto const sent_at = to.time.now();
    co_await pass(to.time, fault.latency / 2);
    auto const refused = instead != lie::none || fault.what == transport_fault::throttled ||
        fault.what == transport_fault::access_denied || fault.what == transport_fault::server_error ||
        fault.what == transport_fault::dropped_before;
    std::optional<result<typename Request::response>> got;
    if (!refused) {
        auto const asked = request;
        auto said = co_await sqs::perform(to.service, std::move(request));
        got.emplace(std::move(said));
        if (*got) tell(to.observer, asked, got->value(), sent_at);
        if constexpr (std::same_as<Request, sqs::receive_message_request>) {
            if (*got && to.observer && !with->bell && with->fair) to.observer->received_for_nobody(got->value());
        }
    }
    if (fault.what == transport_fault::half_open) co_return;
    if (fault.what == transport_fault::slow) co_await pass(to.time, std::chrono::seconds(2));
    co_await pass(to.time, fault.latency - fault.latency / 2);
    if constexpr (std::same_as<Request, sqs::receive_message_request>)
        if (instead == lie::without_handles) co_return with->land(without_handles());
    if (instead == lie::credentials_expired)
        with->land(expired());
    else if (fault.what == transport_fault::none || fault.what == transport_fault::slow)
        with->land(std::move(*got));
    else
        with->land(refusal(fault));
}

void network::arrived(sqs::change_message_visibility_batch_request const& asked, tick sent_at,
    result<sqs::change_message_visibility_batch_response> const& got)
{
    if (got && service_.observer) service_.observer->confirmed(asked, *got, sent_at);
}

void network::arrived(sqs::send_message_batch_request const& asked, tick /*sent_at*/,
    result<sqs::send_message_batch_response> const& got)
{
    if (!got && !got.error().retryable && service_.observer) service_.observer->copies_refused(asked);
}

void network::arrived(
    sqs::receive_message_request const& asked, tick sent_at, result<sqs::receive_message_response>& got)
{
    if (got && service_.damages) {
        auto& all = got->messages;
        for (auto m = all.begin(); m != all.end();) {
            if (!service_.damages(*m)) {
                ++m;
                continue;
            }
            if (service_.notes) service_.notes->reach(detail::damaged_message());
            auto const position = got->damaged.size() + static_cast<std::size_t>(m - all.begin());
            got->damaged.push_back(
                {position, std::move(*m), failure(errc::checksum_mismatch, "damaged on its way (simulated)")});
            m = all.erase(m);
        }
    }
    if (!service_.observer) return;
    if (got)
        service_.observer->delivered(asked, *got, sent_at);
    else
        service_.observer->receive_failed(asked, got.error());
}

void network::leaves(sqs::receive_message_request const& asked)
{
    if (service_.observer) service_.observer->asks(asked);
}

template <class Request>
void network::leaves(Request const& asked)
{
    if constexpr (requires { asked.entries.front().receipt_handle; }) {
        for (auto const& entry : asked.entries)
            if (service_.observer) service_.observer->names(Request::operation, entry.receipt_handle);
    }
}

template <class Request>
network::answer<typename Request::response> network::carry(Request request)
{
    using response = typename Request::response;
    auto limit = request_timeout_;
    if constexpr (std::same_as<Request, sqs::receive_message_request>) {
        limit += request.wait_time.value_or(std::chrono::seconds(20));
    }
    leaves(request);
    Request const asked = request;
    auto const sent_at = service_.time.now(); // as far as its process can know
    auto const executor = co_await asio::this_coro::executor;
    std::optional<poll_place> seat;
    if constexpr (std::same_as<Request, sqs::receive_message_request>) {
        if (service_.polls) {
            seat.emplace(service_.polls, service_.time, executor);
            auto const is_mine = co_await seat->granted(service_.time.now() + limit);
            if (!is_mine) {
                result<response> none = failure(errc::connect_failed, "no connection came free (simulated)", true);
                arrived(asked, sent_at, none);
                co_return none;
            }
        }
    }
    ++requests;
    alarm bell(service_.time, executor);
    auto const with = std::make_shared<flight<response>>();
    with->bell = &bell;
    struct leave {
        flight<response>& from;
        ~leave() { from.bell = nullptr; }
    } const left{*with};

    auto const fault = plan_.on_request(Request::operation);
    if (service_.notes) service_.notes->harm(Request::operation, fault.what);
    with->fair = fault.what == transport_fault::none && fault.latency < request_timeout_;
    auto constexpr receives = std::same_as<Request, sqs::receive_message_request>;
    auto const instead = expired_      ? lie::credentials_expired
        : receives && without_handles_ ? lie::without_handles
                                       : lie::none;
    auto way = travel(service_, with, std::move(request), fault, instead);
    asio::co_spawn(service_.executor, std::move(way), [](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug);
    });
    auto const landed = co_await bell.wait(service_.time.now() + limit);
    result<response> got = failure(errc::timed_out, "no answer in time (simulated)", true);
    if (landed && with->answer) got = std::move(*with->answer);
    if constexpr (requires { got->failed; }) {
        if (got && service_.notes)
            for (auto const& entry : got->failed)
                service_.notes->refuse(Request::operation, entry.sender_fault);
    }
    if constexpr (requires { arrived(asked, sent_at, got); }) arrived(asked, sent_at, got);
    co_return got;
}

} // namespace quern::sim

template class quern::sqs::forwarding_api<quern::sim::network>;
