#pragma once

#include <quern/sqs/forwarding_api.hpp>

#include <functional>

namespace quern::app {

/// Passes everything on, and tells what was received, and which receipt handles the service confirms as deleted.
class observed_api final : public sqs::forwarding_api<observed_api> {
public:
    template <class T>
    using answer = sqs::answer<T>;

    explicit observed_api(sqs::api& to) : to_(to) {}

    std::function<void(sqs::message const&)> on_received;
    std::function<void(std::string_view receipt_handle)> on_deleted;

    template <class Request>
    answer<typename Request::response> carry(Request r)
    {
        return sqs::perform(to_, std::move(r));
    }

    answer<sqs::receive_message_response> carry(sqs::receive_message_request r)
    {
        auto got = co_await to_.receive_message(std::move(r));
        if (got) {
            for (auto const& m : got->messages)
                on_received(m);
        }
        co_return got;
    }

    answer<sqs::delete_message_batch_response> carry(sqs::delete_message_batch_request r)
    {
        auto const asked = r.entries;
        auto got = co_await to_.delete_message_batch(std::move(r));
        if (got) {
            for (auto const& done : got->successful) {
                for (auto const& e : asked) {
                    if (e.id == done.id) on_deleted(e.receipt_handle);
                }
            }
        }
        co_return got;
    }

    std::chrono::milliseconds clock_offset() const override { return to_.clock_offset(); }
    sqs::lane_claim claim(sqs::lane_places wanted) override { return to_.claim(wanted); }

private:
    sqs::api& to_;
};

} // namespace quern::app
