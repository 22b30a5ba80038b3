#pragma once

#include <quern/aws/client_options.hpp>
#include <quern/core/clock.hpp>
#include <quern/sqs/forwarding_api.hpp>
#include <quern/sqs/request_observer.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <memory>
#include <optional>

namespace quern::sqs {

/// Settings of a client; `request_timeout`, of 10 s, is of each attempt other than a ReceiveMessage.
struct client_options : aws::client_options {
    client_options() { request_timeout = std::chrono::seconds(10); }

    /// A ReceiveMessage may take its wait time (20 s when it names none: the queue's own may be that long) and this:
    /// for the way there and back and an answer of up to ten messages.
    std::chrono::milliseconds receive_slack{5'000};
    std::shared_ptr<request_observer> observer{}; ///< told of each request; null: nobody
    bool verify_checksums = true;                 ///< compare the service's MD5 digests: damage does not get past us

    /// The first setting that cannot work, by name.
    [[nodiscard]] std::optional<failure> validate() const;
};

/// SQS over HTTP. ReceiveMessage uses the data lane's connections, everything else those of the control lane, so that
/// a delete never waits behind a long poll.
///
/// Requests  that break a limit of the service (limits.hpp) fail with errc::invalid_request and are not sent.
/// Endpoint  all requests go there, whatever the host in a queue URL: that one names the queue to the service and
///           nothing to the client, as in botocore.
/// Retries   aws::retry_options. A request that met a dead kept-alive connection is sent again, but for what would
///           take effect twice: ReceiveMessage, and messages without a deduplication id.
/// Digests   of messages sent: errc::checksum_mismatch, in a batch a failed entry (failures.hpp); of messages
///           received: receive_message_response::damaged.
/// Lifetime  any order: destroying the object ends the operations under way with errc::stopped, and so does the end
///           of the client's context, for those who wait on another one.
/// Threads   any, for every call and for destruction, so that consumers, producers and programs may share it. It
///           works on a strand of its own, over the executor given; an operation awaited elsewhere goes there and
///           comes back. One that is awaited on get_executor() saves that way.
class client final : public forwarding_api<client> {
public:
    /// `ex`: where it works; a compact_strand is taken as it is, over anything else it makes one.
    ///
    /// Reads the environment and the shared config file for what the options leave open. Credentials are looked for
    /// by the first operation, which fails with errc::no_credentials where there are none.
    ///
    /// Throws boost::system::system_error when an option is invalid, no region is found, or the CA bundle or the
    /// config file cannot be read. `time` outlives the client and its operations.
    explicit client(boost::asio::any_io_executor, client_options = client_options(), clock& time = real_clock());
    ~client() override;
    /// Moves; the object moved from may be destroyed, or assigned to, and nothing else.
    client(client&&) noexcept = default;
    client& operator=(client&&) noexcept;

    using executor_type = boost::asio::any_io_executor;

    /// Ends every operation under way with errc::stopped and closes all connections: on its strand, before it returns
    /// where that is idle and here.
    void close();

    /// Its strand. Clients made with it share it.
    executor_type get_executor() const;

    /// Where its keys come from: another client that is given them too, and works on the same strand, looks for none
    /// itself. They end with this client unless they are the program's.
    std::shared_ptr<aws::credentials_provider> credentials() const;

    /// Taken from the Date headers of the answers, once a minute; within a second of ours it is zero.
    std::chrono::milliseconds clock_offset() const override;

    std::string_view region() const override;

    /// Against connections.data_connections and control_connections. Consumers do, so that none of their polls waits
    /// for a connection; what does not claim uses them all the same.
    lane_claim claim(lane_places) override;

    /// Does not keep the client: its operations fail with errc::stopped once that is gone.
    std::shared_ptr<api> share() const override;

    net::endpoint const& endpoint() const;
    net::client_counters counters() const;

private:
    friend class forwarding_api<client>;
    struct state;
    struct address;
    struct errand;
    template <class Request>
    struct errand_of;

    explicit client(std::shared_ptr<address const> anothers) : address_(std::move(anothers)), is_guest_(true) {}

    template <class Request>
    answer<typename Request::response> carry(Request);
    template <class Request>
    static answer<typename Request::response> carry_out(
        std::shared_ptr<address const>, std::shared_ptr<errand_of<Request>>);

    std::shared_ptr<address const> address_;
    bool is_guest_ = false; // at another client's, which ends without us
};

extern template class forwarding_api<client>;

} // namespace quern::sqs
