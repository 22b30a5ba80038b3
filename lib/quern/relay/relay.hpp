#pragma once

#include <quern/consumer/delivery.hpp>
#include <quern/consumer/handler.hpp>
#include <quern/consumer/options.hpp>
#include <quern/consumer/outcome.hpp>
#include <quern/net/endpoint.hpp>
#include <quern/net/web_hook.hpp>
#include <quern/policy/rate_limit.hpp>
#include <quern/relay/letter.hpp>
#include <quern/relay/request.hpp>
#include <quern/relay/rule.hpp>
#include <quern/telemetry/instruments.hpp>
#include <quern/telemetry/log.hpp>

#include <boost/asio/awaitable.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quern::relay {

/// An authorization server that gives out tokens for requests, by the grant of client credentials (RFC 6749, 4.4).
struct oauth2_options {
    net::endpoint token_url; ///< https, but for a server on this machine
    std::string client_id;   ///< not empty
    std::string secret_file; ///< its secret; read again when it has changed
    std::string secret;      ///< the secret, where there is no file
    std::string scope;       ///< several with blanks between; empty: what the server gives unasked
    std::string audience;    ///< as some servers want it; empty: not sent
    bool secret_in_body{}; ///< as some want it; false: Authorization: Basic, which all have to take (RFC 6749, 2.3.1)
    std::chrono::milliseconds timeout{10'000}; ///< of a request for a token
};

struct relay_options {
    request_options request{};
    rules outcome{};

    /// Limit of a request, from its beginning to the last byte of the answer. The message's lease is extended
    /// meanwhile.
    std::chrono::milliseconds timeout{30'000};

    std::string unix_socket{}; ///< path of a socket to connect to; the URL still gives Host and path

    std::vector<std::string> secret_files{}; ///< Standard Webhooks secrets; each signs, so that they can be exchanged
    std::vector<std::string> ed25519_files{}; ///< private keys, see ed25519_key(); each signs beside these
    std::string bearer_file{};                ///< a token, for "Authorization: Bearer"
    std::string basic_file{};                 ///< "user:password", for "Authorization: Basic"

    /// A token for "Authorization: Bearer", kept until shortly before it ends; one request for another at a time. An
    /// answer of 401 has it renewed, and the request made again, once. While there is none, the message counts as one
    /// whose service is down. Absent: none.
    std::optional<oauth2_options> oauth2{};

    /// batch_handler() is to be used: a request stands for several messages.
    bool batches = false;

    /// Takes the answer of a message that is about to be deleted: its reply, for a queue say. When that fails with a
    /// failure that may pass, the message is retried, and so is its request; after one of what it
    /// says, which no queue could ever take, it is deleted all the same, with a warning. Null: nobody wants it.
    std::function<boost::asio::awaitable<result<void>>(delivery const&, net::response const&)> reply{};

    /// The trace that a request is made for, with any set of headers: traceparent, tracestate and X-Amzn-Trace-Id
    /// are of it, instead of the message's own. Not for batch_handler(). Null, or nothing: there is none.
    std::function<std::optional<telemetry::trace_context>(delivery const&)> trace{};

    /// How far SQS's clock is ahead of this machine's, sqs::api::clock_offset(): signatures tell the time by it, for
    /// their readers refuse one that is five minutes off. Null: this machine's clock is right.
    std::function<std::chrono::milliseconds()> clock_offset{};

    log_sink log = to_standard_error();
    clock* time = nullptr; ///< the real one when null

    /// The first setting that cannot work. Reads no file.
    [[nodiscard]] std::optional<failure> validate() const;
};

/// Reads what authenticates requests now.
///
/// Fails with  errc::invalid_option  a file cannot be read, or holds no secret; names it, and shows nothing of it
[[nodiscard]] result<request_keys> read_keys(relay_options const&);

/// Counts of messages since the start, by what became of them.
struct relay_counters {
    std::uint64_t requests = 0; ///< made
    std::uint64_t acked = 0, retried = 0, rejected = 0, unavailable = 0, halted = 0;
    std::uint64_t not_sent = 0;   ///< requests of which the service has seen nothing
    std::uint64_t maybe_done = 0; ///< retried, although the service may have done the work
    std::uint64_t refused = 0;    ///< answers of 429 after which their messages come again
    std::uint64_t cancelled = 0;  ///< requests whose lease was lost, or that a drain ended
    std::uint64_t unreplied = 0;  ///< acknowledged, although their reply can never be stored

    /// Requests that are over, in the order of these values.
    std::array<std::uint64_t, telemetry::values::web_hook.size()> by_status{};
};

/// Brings each message to a web service: a handler for a consumer.
///
/// A request is cancelled, and its connection closed, when the lease of its message is lost or a drain runs out of
/// time. An answer of 429 puts off its own message and no other; see on_rate() for a service that takes so many a
/// second and no more.
///
///     quern::net::web_hook_client web(io.get_executor());
///     quern::relay::relay to_shop(web, queue, options);
///     quern::consumer c(io, queue_url, to_shop.handler(), settings);
///
/// Lifetime  the sender outlives the consumer's drain. What handler() returns keeps the rest alive.
/// Threads   one strand: that of the consumer, whose handlers must run on it, and of the sender.
class relay {
public:
    /// Throws boost::system::system_error when an option is invalid, or a file with a secret cannot be read.
    relay(net::web_hook_sender&, queue_name, relay_options);

    quern::handler handler() const;

    /// The same for several messages at once, where options say `batches`: one event of the format lambda, whose
    /// answer tells which of them have failed. The breaker hears of each message, so three of a request that finds
    /// the service down open it.
    quern::batch_handler batch_handler() const;

    /// Takes other options from the next request on; those under way end by the rules of the new ones. After a
    /// failure the old ones stay in use.
    ///
    /// Fails with  errc::invalid_option  as the constructor
    [[nodiscard]] result<void> reload(relay_options);

    /// Called once a rule says that somebody must look: drain the consumer. `why`: the rule's reason.
    void on_halt(std::function<void(std::string why)>);

    /// Called when another rate is right for the service, as its answers of 429 show: consumer::set_limits() for one
    /// makes the consumer keep to it. Absent: any. It is given only where fewer messages bring no fewer successes,
    /// see detail::refusal_rule; none without a call of this.
    void on_rate(std::function<void(std::optional<policy::rate>)>);

    relay_counters const& counters() const;

    /// The rate that on_rate() was told last.
    std::optional<policy::rate> rate() const;

private:
    class core;
    std::shared_ptr<core> core_;
};

/// Names what a message depends on, for outage_options::dependency: what the template makes of it, the empty name
/// where the message lacks a place. With "{{attr.tenant}}" the outage of a tenant's service is no matter to the
/// others.
std::function<std::string(delivery const&)> dependency_by(text_template, queue_name);

/// The system attributes that requests tell of, for consumer_options::system_attributes.
std::vector<std::string> system_attributes_for(request_options const&);

} // namespace quern::relay
