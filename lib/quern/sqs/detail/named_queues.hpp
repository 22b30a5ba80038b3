#pragma once

#include <quern/sqs/forwarding_api.hpp>
#include <quern/sqs/queue_reference.hpp>

#include <string>
#include <unordered_map>

namespace quern::sqs::detail {

/// A go-between for those who refer to queues by name or by ARN: the first request for one waits until GetQueueUrl
/// has found its URL, and fails as that does. Each further one goes on as if the URL had been given.
///
/// Lifetime  outlives the operations, as the api does.
/// Threads   one strand.
class named_queues final : public forwarding_api<named_queues> {
public:
    explicit named_queues(api& to) : to_(to) {}

    /// No request reaches the api from now on.
    void close() { is_closed_ = true; }

    template <class Request>
    answer<typename Request::response> carry(Request);

    std::chrono::milliseconds clock_offset() const override { return to_.clock_offset(); }
    std::string_view region() const override { return to_.region(); }
    lane_claim claim(lane_places wanted) override { return to_.claim(wanted); }

private:
    template <class Request>
    answer<typename Request::response> carry_by_name(Request);

    api& to_;
    std::unordered_map<std::string, std::string> urls_;
    bool is_closed_ = false;
};

} // namespace quern::sqs::detail

extern template class quern::sqs::forwarding_api<quern::sqs::detail::named_queues>;
