// The answer to the inquiry, and its asking.

#include <quern/consumer/detail/gate/gate_stage.hpp>

#include <quern/core/simdjson.hpp>
#include <quern/sqs/queue_reference.hpp>

#include <charconv>
#include <string_view>
#include <utility>

namespace quern::detail {

namespace asio = boost::asio;

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

} // namespace

redrive_policy redrive_policy_in(std::string_view text)
{
    redrive_policy out;
    simdjson::dom::parser parser;
    simdjson::dom::element policy, member;
    simdjson::padded_string const padded(text);
    if (parser.parse(padded).get(policy) != simdjson::SUCCESS) return out;
    if (policy.at_key("maxReceiveCount").get(member) == simdjson::SUCCESS) out.max_receives = count_in(member);
    std::string_view arn;
    if (policy.at_key("deadLetterTargetArn").get(arn) == simdjson::SUCCESS)
        out.dead_letter_queue = arn.substr(arn.rfind(':') + 1);
    return out;
}

/// As long as the policy cannot be read, no receive counts as the last, and without a poison queue nothing is
/// rejected.
asio::awaitable<void> gate_stage::learn_redrive_policy()
{
    sqs::get_queue_attributes_request ask(line_.queue_url);
    ask.attribute_names = {"RedrivePolicy"};
    auto const got = co_await line_.api.get_queue_attributes(std::move(ask));
    if (line_.ending) co_return;
    line_.wake.ring();
    if (got) {
        auto const policy = got->attributes.find("RedrivePolicy");
        take_up(policy == got->attributes.end() ? redrive_policy() : redrive_policy_in(policy->second));
        if (redrive_.succeeded(line_.now()))
            line_.log.write(log_level::info, "redrive policy", "read at last", line_.now());
        co_return;
    }
    auto const receives_work = line_.counters.polls != line_.counters.failed_polls;
    if (!redrive_.failed(receives_work, line_.now(), line_.random)) co_return;
    line_.log.write(log_level::warning, "redrive policy",
        line_.queue_url +
            ": cannot be read (sqs:GetQueueAttributes), so until it can an outage may fill the dead-letter queue" +
            (!line_.options.poison_queue ? ", and rejected messages are put off: " : ": ") + describe(got.error()),
        line_.now());
}

void gate_stage::take_up(redrive_policy const& policy)
{
    line_.max_receives = policy.max_receives;
    if (line_.options.poison_queue) return;
    auto const is_new = !line_.rejected_go_to;
    auto const& name = policy.dead_letter_queue;
    // SQS wants a dead-letter queue in the same account and region.
    line_.rejected_go_to = name.empty() ? std::string() : sqs::sibling_of(line_.queue_url, name);
    auto const& o = line_.options;
    auto const may_reject =
        run_.may_reject() || o.on_malformed == malformed_policy::reject || o.max_age || o.max_tries;
    if (is_new && name.empty() && may_reject) {
        log_throttle own(o.log); // explain() would tell it as the last problem for ever
        own.write(log_level::warning, "redrive policy",
            line_.queue_url +
                " has no dead-letter queue, and there is no poison_queue: rejected messages will be deleted",
            line_.now());
    }
}

} // namespace quern::detail
