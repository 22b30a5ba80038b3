#pragma once

#include <quern/broker/faults.hpp>
#include <quern/core/clock.hpp>
#include <quern/sim/poll_places.hpp>
#include <quern/sqs/forwarding_api.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <functional>
#include <string>

namespace quern::sim {

namespace detail {
class recorder;
}

/// Sees what the service has carried out for one process, at that moment: the truth, of which no answer need tell.
/// And what the process has tried and seen. `sent_at` is when the request left the process.
class service_observer {
public:
    virtual ~service_observer() = default;

    // At the service.
    virtual void received(sqs::receive_message_request const&, sqs::receive_message_response const&) = 0;
    virtual void deleted(sqs::delete_message_batch_request const&, sqs::delete_message_batch_response const&) = 0;
    virtual void changed(sqs::change_message_visibility_batch_request const&,
        sqs::change_message_visibility_batch_response const&, tick sent_at) = 0;
    virtual void sent(sqs::send_message_batch_request const&, sqs::send_message_batch_response const&) = 0;

    // In the process.
    virtual void asks(sqs::receive_message_request const&) = 0;                            ///< it leaves
    virtual void names(std::string_view operation, std::string const& receipt_handle) = 0; ///< as asks(), an entry
    virtual void delivered(
        sqs::receive_message_request const&, sqs::receive_message_response const&, tick sent_at) = 0;
    virtual void confirmed(sqs::change_message_visibility_batch_request const&,
        sqs::change_message_visibility_batch_response const&, tick sent_at) = 0;
    virtual void receive_failed(sqs::receive_message_request const&, failure const&) = 0;
    virtual void copies_refused(sqs::send_message_batch_request const&) = 0; ///< for good
    /// The service has answered, in time, a receive that nobody waits for any more.
    virtual void received_for_nobody(sqs::receive_message_response const&) = 0;
};

/// SQS as one process sees it through a network that delays, loses and refuses. A request that has left goes on
/// whatever becomes of the process that sent it.
///
/// Errors     as the client reports them: timed_out after `request_timeout` (a receive waits that much longer than it
///            polls, from when it has a connection), connect_failed for a receive that got none for as long,
///            connection_lost, throttled, service_error.
/// Lifetime   it, the service and the observer outlive both contexts.
/// Threads    one.
class network final : public sqs::forwarding_api<network> {
public:
    struct place {
        sqs::api& service;
        clock& time;
        boost::asio::any_io_executor executor; ///< where the service's side of a request runs
        service_observer* observer = nullptr;
        std::function<bool(sqs::message const&)> damages; ///< which messages arrive unreadable; empty: none
        std::shared_ptr<poll_places> polls;               ///< of the client; null: each poll has a connection
        detail::recorder* notes = nullptr;                ///< of what befalls requests; null: nobody keeps them
    };

    network(place service, std::chrono::milliseconds request_timeout);

    /// From the next request on. Of the rates, those of the connection and the answer count here; those of the
    /// engine are the engine's.
    void set_faults(broker::fault_settings const& s) { plan_ = broker::fault_plan(s); }

    /// From the next request on, until false again: the service refuses everything, because the credentials with
    /// which it is signed have expired and no new ones can be had.
    void expire_credentials(bool on) { expired_ = on; }

    /// From the next request on, until false again: something between here and the service answers receives itself,
    /// with messages of which nobody can say what becomes of them.
    void lose_handles(bool on) { without_handles_ = on; }

    std::size_t requests = 0; ///< that have left

    template <class T>
    using answer = sqs::answer<T>;

    template <class Request>
    answer<typename Request::response> carry(Request);

private:
    enum class lie { none, credentials_expired, without_handles };
    template <class Response>
    struct flight;
    template <class Request>
    static boost::asio::awaitable<void> travel(
        place, std::shared_ptr<flight<typename Request::response>>, Request, broker::request_fault, lie);
    void leaves(sqs::receive_message_request const&);
    template <class Request>
    void leaves(Request const&);
    void arrived(sqs::receive_message_request const&, tick sent_at, result<sqs::receive_message_response>&);
    void arrived(
        sqs::send_message_batch_request const&, tick sent_at, result<sqs::send_message_batch_response> const&);
    void arrived(sqs::change_message_visibility_batch_request const&, tick sent_at,
        result<sqs::change_message_visibility_batch_response> const&);

    place service_;
    std::chrono::milliseconds request_timeout_;
    broker::fault_plan plan_;
    bool expired_ = false, without_handles_ = false;
};

} // namespace quern::sim

extern template class quern::sqs::forwarding_api<quern::sim::network>;
