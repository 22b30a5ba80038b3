#pragma once

#include <quern/consumer/consumer.hpp>

#include <functional>
#include <memory>

namespace quern::sim {

/// The program of a simulated process: the consumer, or in tests a deliberately naive one, which must be caught.
class subject {
public:
    virtual ~subject() = default;
    /// `ended`: called once, when a drain has ended, whoever began it.
    virtual void start(std::function<void(drain_report const&)> ended) = 0;
    virtual void drain(std::chrono::milliseconds limit) = 0;
    virtual std::size_t in_flight() const = 0;
    virtual void rest(bool) {} ///< its user pauses it, or lets it go on
    virtual void set_limits(consumer_limits const&) {}
};

using subject_factory = std::function<std::unique_ptr<subject>(
    boost::asio::io_context&, sqs::api&, std::string queue_url, handlers, consumer_options)>; // one or many of them

/// quern::consumer.
subject_factory real_consumer();

} // namespace quern::sim
