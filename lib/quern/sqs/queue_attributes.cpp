#include <quern/sqs/queue_attributes.hpp>

#include <quern/core/detail/text/reading.hpp>
#include <quern/core/simdjson.hpp>

#include <charconv>
#include <cstdint>
#include <string_view>

namespace quern::sqs {

namespace {

int count_in(simdjson::dom::element const& given)
{
    if (std::int64_t n = 0; given.get(n) == simdjson::SUCCESS)
        return n > 0 && n <= 1'000'000 ? static_cast<int>(n) : 0;
    std::string_view digits; // as consoles and templates write it
    if (given.get(digits) != simdjson::SUCCESS) return 0;
    int out = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), out);
    return out;
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

redrive_policy redrive_policy_in(string_map const& attributes)
{
    redrive_policy out;
    simdjson::dom::parser parser;
    simdjson::dom::element policy, member;
    simdjson::padded_string const padded(text_at(attributes, "RedrivePolicy"));
    if (parser.parse(padded).get(policy) != simdjson::SUCCESS) return out;
    if (policy.at_key("maxReceiveCount").get(member) == simdjson::SUCCESS) out.max_receives = count_in(member);
    std::string_view arn;
    if (policy.at_key("deadLetterTargetArn").get(arn) == simdjson::SUCCESS) out.dead_letter_arn = arn;
    return out;
}

} // namespace quern::sqs
