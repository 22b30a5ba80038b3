#pragma once

#include <quern/consumer/handler.hpp>
#include <quern/consumer/middleware.hpp>
#include <quern/core/clock.hpp>
#include <quern/idempotency/key.hpp>
#include <quern/idempotency/rule.hpp>
#include <quern/idempotency/store.hpp>
#include <quern/telemetry/log.hpp>

#include <boost/asio/awaitable.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace quern::idempotency {

namespace detail {
class batch_seat;
struct batch_table;
class claim_lease;
} // namespace detail

/// Settings of a once.
struct once_options {
    /// Before the digest in each key: what the handler does, so that two handlers share a table without meeting. Not
    /// empty.
    std::string prefix{};

    /// Keys and rows as which language has them.
    flavour as = flavour::quern;

    /// The same value is the same work.
    key_source key{};

    /// The payload that belongs to a key: the same key with another payload is a mistake of the sender. Absent: not
    /// compared.
    std::optional<key_source> validation{};

    /// How long a completed key is remembered. An hour; at least the queue's retention if a duplicate may come that
    /// late. 1 s to a year.
    std::chrono::seconds life{3'600};

    /// Conduct while the key is in progress elsewhere.
    wait_rule waiting{};

    /// How long the completion is tried when the store does not answer. The work is done by then, so the message is
    /// still deleted.
    std::chrono::milliseconds complete_within{30'000};

    /// Whether to work when the store does not answer: then a message may be handled twice. Otherwise it is retried
    /// later as unavailable().
    bool run_without_store = false;

    /// End of a message whose key was completed with another payload. Absent: reject(), since no other try can
    /// differ; without a queue for it, it is retried.
    std::function<outcome(delivery const&)> on_mismatch{};

    /// End of a message that has no key, see key_source::key_in(). Absent: it counts as malformed; in a batch with
    /// other keys, as retry().
    std::function<outcome(delivery const&)> on_missing_key{};

    /// Called for each duplicate, with the stored result, JSON. Must not throw.
    std::function<void(delivery const&, std::optional<std::string> const& result)> on_duplicate{};

    /// Where warnings go, and at level debug a line for each duplicate. Null: nowhere.
    log_sink log = to_standard_error();

    /// Time; the real one when null.
    clock* time = nullptr;

    /// The first setting that cannot work.
    [[nodiscard]] std::optional<failure> validate() const;
};

/// Numbers of a once.
template <class Number>
struct once_numbers {
    Number claimed{};     ///< messages let through to the handler; a batch may be called off before it begins
    Number completed{};   ///< keys completed
    Number duplicates{};  ///< acknowledged without running
    Number waited{};      ///< looks at a key that somebody else works on
    Number released{};    ///< given back because of that
    Number mismatched{};  ///< known key, other payload
    Number abandoned{};   ///< claims given free: the handler did not acknowledge, or was called off
    Number fenced{};      ///< finished after somebody else had taken the key over
    Number unavailable{}; ///< the store could not be asked
    Number unrecorded{};  ///< done and acknowledged, and the store does not know
};
using once_counters = once_numbers<std::uint64_t>;

/// Things that a handler leaves for whoever meets its key again.
struct receipt {
    std::optional<std::string> result{}; ///< JSON; a row should not exceed a kilobyte
};

/// Lets a handler do the work of each key once, as far as that can be had: the key is claimed in a store before the
/// handler runs, the claim follows the lease of the message, and the completion is kept for `life`.
///
/// A handler that is killed between its effect and the completion has done it, and the store does not know: it is
/// done again. Everything else is docs/guide/once.md.
///
///     auto const once = std::make_shared<idempotency::once>(store, options);
///     quern::consumer c(io, url, quern::chain(once->around(), handle));
///
/// Outcomes    ack() completes the key; anything else, and an exception, gives it free.
/// Lifetime    the functions made keep it.
/// Threads     any.
class once : public std::enable_shared_from_this<once> {
public:
    using worker = std::function<boost::asio::awaitable<outcome>(delivery&, receipt&)>;
    using batch_worker = std::function<boost::asio::awaitable<std::vector<outcome>>(deliveries, std::span<receipt>)>;

    /// Throws boost::system::system_error when an option cannot work.
    once(std::shared_ptr<store>, once_options);

    /// Middleware for quern::chain().
    middleware around();

    /// A handler that may leave a result.
    handler around(worker);

    /// Around a handler that is there.
    handler wrap(handler);

    /// The same for batches: each message has a claim and an outcome of its own. The handler is given those whose key
    /// is free, of two with the same key the first; what waits for somebody else joins in a further call, or is given
    /// back once the others are done.
    batch_handler around(batch_worker);
    batch_handler wrap(batch_handler);

    once_counters counters() const;

private:
    using lease = std::shared_ptr<detail::claim_lease>;

    using seat = detail::batch_seat; // a message's among those of its batch; null: it is alone
    using table = detail::batch_table;

    boost::asio::awaitable<outcome> handle(delivery&, worker const&, seat const*);
    boost::asio::awaitable<std::optional<outcome>> take(delivery&, lease const&, seat const*);
    boost::asio::awaitable<std::optional<outcome>> meet(
        delivery&, store_answer const&, detail::claim_lease const&, std::chrono::milliseconds& waited, seat const*);
    boost::asio::awaitable<outcome> finish(delivery&, lease const&, receipt const&, outcome said, seat const*);
    boost::asio::awaitable<std::vector<outcome>> handle_all(deliveries, batch_worker const&);
    boost::asio::awaitable<void> take_part(std::shared_ptr<table>, std::size_t which);
    boost::asio::awaitable<void> run_round(
        std::shared_ptr<table>, std::vector<std::size_t> which, batch_worker const&);
    std::vector<outcome> outcomes_of(table const&, bool called_off);
    boost::asio::awaitable<void> finish_late(lease, receipt, std::string id);
    boost::asio::awaitable<bool> record_completion(delivery&, detail::claim_lease&, record done);
    boost::asio::awaitable<void> give_free(lease);
    boost::asio::awaitable<void> pause(std::chrono::milliseconds);
    std::function<void(std::exception_ptr)> unawaited(delivery const&);
    outcome down(delivery const&, failure const&);
    void note(log_level, char const* cause, delivery const&, std::string const& text);
    void note_duplicate(delivery const&, std::string const& key);

    std::shared_ptr<store> const store_;
    once_options const options_;
    clock& time_;
    once_numbers<std::atomic<std::uint64_t>> counters_;
    std::mutex log_mutex_;
    log_throttle log_;
};

} // namespace quern::idempotency
