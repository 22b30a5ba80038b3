#pragma once

#include <quern/broker/engine.hpp>
#include <quern/core/alarm.hpp>
#include <quern/sqs/forwarding_api.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <memory>

namespace quern::sim {

/// SQS without a network: every operation is answered by a broker's engine, at the time of the given clock.
///
/// Cancellation  as with the service, a long poll that is cancelled goes on: a message that arrives for it is
///               hidden until its visibility timeout.
/// Lifetime      the engine and the clock outlive it.
/// Threads       one strand: that of the executor given.
class local_api final : public sqs::forwarding_api<local_api> {
public:
    local_api(broker::engine&, clock&, boost::asio::any_io_executor);
    ~local_api() override;

    template <class T>
    using answer = sqs::answer<T>;

    template <class Request>
    answer<typename Request::response> carry(Request);
    answer<sqs::receive_message_response> carry(sqs::receive_message_request);

private:
    class polls;

    template <class T>
    answer<T> done(result<T>);

    broker::engine& engine_;
    clock& time_;
    std::shared_ptr<polls> polls_;
};

} // namespace quern::sim

extern template class quern::sqs::forwarding_api<quern::sim::local_api>;
