// The answer to the inquiry, and its asking.

#include <quern/consumer/detail/dispatch/dispatch_stage.hpp>

#include <simdjson.h>

#include <charconv>
#include <string_view>
#include <utility>

namespace quern::detail {

namespace asio = boost::asio;

int max_receives_in(std::string_view redrive_policy)
{
    simdjson::dom::parser parser;
    simdjson::dom::element most;
    auto const text = simdjson::padded_string(redrive_policy);
    if (parser.parse(text).at_key("maxReceiveCount").get(most) != simdjson::SUCCESS) return 0;
    if (std::int64_t n = 0; most.get(n) == simdjson::SUCCESS)
        return n > 0 && n <= 1'000'000 ? static_cast<int>(n) : 0;
    std::string_view digits; // as consoles and templates write it
    if (most.get(digits) != simdjson::SUCCESS) return 0;
    int out = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), out);
    return out;
}

/// As long as the policy cannot be read, no receive counts as the last.
asio::awaitable<void> dispatch_stage::learn_max_receives()
{
    sqs::get_queue_attributes_request ask(line_.queue_url);
    ask.attribute_names = {"RedrivePolicy"};
    auto const got = co_await line_.api.get_queue_attributes(std::move(ask));
    if (line_.ending) co_return;
    line_.wake.ring();
    if (got) {
        auto const policy = got->attributes.find("RedrivePolicy");
        outage_.set_max_receives(policy == got->attributes.end() ? 0 : max_receives_in(policy->second));
        if (redrive_.succeeded(line_.now()))
            line_.log.write(log_level::info, "redrive policy", "read at last", line_.now());
        co_return;
    }
    auto const receives_work = line_.counters.polls != line_.counters.failed_polls;
    if (!redrive_.failed(receives_work, line_.now(), line_.random)) co_return;
    line_.log.write(log_level::warning, "redrive policy",
        line_.queue_url +
            ": cannot be read (sqs:GetQueueAttributes), so an outage may fill the dead-letter queue until it can: " +
            describe(got.error()),
        line_.now());
}

} // namespace quern::detail
