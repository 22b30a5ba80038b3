#include "planted.hpp"
#include "streak_gate.hpp"

#include <quern/sqs/detail/copy.hpp>
#include <quern/sqs/forwarding_api.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace quern::sim {

namespace asio = boost::asio;

namespace {

constexpr char const* reason = "QuernReason";

class spoilt_api final : public sqs::forwarding_api<spoilt_api> {
public:
    spoilt_api(sqs::api& real, planted which) : real_(real), which_(which) {}

    template <class Request>
    sqs::answer<typename Request::response> carry(Request request)
    {
        co_return co_await sqs::perform(real_, std::move(request));
    }

    sqs::answer<sqs::attributes_response> carry(sqs::get_queue_attributes_request request)
    {
        if (first_ && which_ == planted::reads_policy_once) co_return *first_;
        auto said = co_await sqs::perform(real_, std::move(request));
        if (said) first_.emplace(*said);
        co_return said;
    }

    sqs::answer<sqs::receive_message_response> carry(sqs::receive_message_request request)
    {
        auto said = co_await sqs::perform(real_, std::move(request));
        if (said)
            for (auto const& m : said->messages)
                remember(sqs::detail::copy_of(m));
        co_return said;
    }

    sqs::answer<sqs::send_message_batch_response> carry(sqs::send_message_batch_request request)
    {
        for (auto& one : request.entries)
            spoil(one);
        co_return co_await sqs::perform(real_, std::move(request));
    }

private:
    void remember(sqs::send_message_entry const& as_it_came)
    {
        auto const had = as_it_came.attributes.find(reason);
        if (had != as_it_came.attributes.end()) reasons_.insert_or_assign(as_it_came.body, had->second);
    }

    void spoil(sqs::send_message_entry& copy) const
    {
        auto const had = reasons_.find(copy.body);
        if (which_ == planted::keeps_old_reason && had != reasons_.end()) copy.attributes[reason] = had->second;
        if (which_ == planted::loses_trace) copy.system_attributes.clear();
        if (which_ != planted::loses_origin) return;
        for (auto const* name : {"QuernOriginalId", "QuernSource", "QuernReceiveCount"})
            copy.attributes.erase(name);
    }

    sqs::api& real_;
    planted const which_;
    std::optional<sqs::attributes_response> first_;
    std::map<std::string, sqs::attribute_value> reasons_; // by body, of messages that came with one
};

class spoilt final : public subject {
public:
    spoilt(planted which, asio::io_context& io, sqs::api& real, std::string url, handlers handle, consumer_options o)
        : api_(real, which), it_(real_consumer()(io, api_, std::move(url), std::move(handle), std::move(o)))
    {}

    void start(std::function<void(drain_report const&)> ended) override { it_->start(std::move(ended)); }
    void drain(std::chrono::milliseconds limit) override { it_->drain(limit); }
    std::size_t in_flight() const override { return it_->in_flight(); }
    void rest(bool on) override { it_->rest(on); }
    void set_limits(consumer_limits const& to) override { it_->set_limits(to); }

private:
    spoilt_api api_;
    std::unique_ptr<subject> it_;
};

} // namespace

subject_factory consumer_with(planted which)
{
    return [which](asio::io_context& io, sqs::api& api, std::string url, handlers handle, consumer_options options) {
        if (which == planted::stops_at_a_streak) options.outage.gate = std::make_shared<streak_gate>();
        return std::make_unique<spoilt>(which, io, api, std::move(url), std::move(handle), std::move(options));
    };
}

} // namespace quern::sim
