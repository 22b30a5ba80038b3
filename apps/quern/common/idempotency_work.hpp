#pragma once

#include "common/session.hpp"

#include <quern/consumer/options.hpp>
#include <quern/idempotency/once.hpp>
#include <quern/metrics/collection.hpp>

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace quern::app {

class command;

/// Options of a consumer's command line about handlers that must not repeat.
struct idempotency_options {
    std::string store; ///< "ddb:TABLE", "memory"; empty: handlers may repeat
    std::string key = "message-id";
    std::string name; ///< before the digest in each key; empty: that of the queue
    std::string flavour = "quern";
    std::chrono::milliseconds life = std::chrono::hours(1);
};

void add_idempotency_options(command& to, idempotency_options&);

/// The guards of a program's handlers: one a queue, over one store.
class idempotency_work {
public:
    /// Asks for the table, so that one that is not there is told at the start.
    ///
    /// Fails with  errc::invalid_option  no such store, no such key, no such table
    static boost::asio::awaitable<result<std::shared_ptr<idempotency_work>>> make(
        session&, idempotency_options const&);

    /// Asks for what the key needs of each message.
    void add_attributes(consumer_options&) const;

    handler wrap(std::string const& queue_url, handler);

    /// Adds the numbers of this queue's guard, which has to be there, under the labels of its consumer.
    void show(std::string const& queue_url, telemetry::source_labels const&, metrics::collection& in) const;

    /// "claimed 10, completed 10, duplicates 0, …", of all queues.
    std::string statistics() const;

private:
    idempotency_options said_;
    idempotency::key_source key_;
    std::shared_ptr<idempotency::store> store_;
    std::map<std::string, std::shared_ptr<idempotency::once>> guards_;
};

} // namespace quern::app
