#include <quern/sqs/queue_attributes.hpp>

#include <quern/core/detail/text/reading.hpp>
#include <quern/core/simdjson.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace quern::sqs {

namespace {

/// Absent: it is no count of receives.
std::optional<int> count_in(simdjson::dom::element const& given)
{
    std::int64_t n = 0;
    if (given.get(n) != simdjson::SUCCESS) {
        std::string_view digits; // as consoles and templates write it
        if (given.get(digits) != simdjson::SUCCESS) return {};
        n = quern::detail::text::number_in<std::int64_t>(digits).value_or(0);
    }
    if (n < 1 || n > 1'000'000) return {};
    return static_cast<int>(n);
}

std::string_view text_at(string_map const& attributes, std::string const& name)
{
    auto const at = attributes.find(name);
    return at == attributes.end() ? std::string_view() : at->second;
}

} // namespace

std::vector<std::string> depth_attributes()
{
    return {
        "ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed"};
}

result<queue_depth> depth_in(string_map const& attributes)
{
    std::vector<std::size_t> counts;
    for (auto const& name : depth_attributes()) {
        auto const count = quern::detail::text::number_in<std::size_t>(text_at(attributes, name));
        if (!count) return failure(errc::bad_reply, name + " is missing or no number");
        counts.push_back(*count);
    }
    return queue_depth{counts[0], counts[1], counts[2]};
}

result<redrive_policy> redrive_policy_in(string_map const& attributes)
{
    auto const text = text_at(attributes, "RedrivePolicy");
    if (text.empty()) return redrive_policy{};
    failure const unreadable(errc::bad_reply, "RedrivePolicy: not as expected");
    simdjson::dom::parser parser;
    simdjson::dom::element policy, member;
    simdjson::padded_string const padded(text);
    std::string_view arn;
    if (parser.parse(padded).get(policy) != simdjson::SUCCESS ||
        policy.at_key("maxReceiveCount").get(member) != simdjson::SUCCESS ||
        policy.at_key("deadLetterTargetArn").get(arn) != simdjson::SUCCESS || arn.empty())
        return unreadable;
    auto const count = count_in(member);
    if (!count) return unreadable;
    return redrive_policy{*count, std::string(arn)};
}

} // namespace quern::sqs
