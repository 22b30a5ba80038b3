// The answer to the inquiry, and its asking.

#include <quern/consumer/detail/gate/gate_stage.hpp>

#include <quern/sqs/queue_reference.hpp>

#include <utility>

namespace quern::detail {

namespace asio = boost::asio;

/// As long as the policy cannot be read, no receive counts as the last, and without a poison queue nothing is
/// rejected.
asio::awaitable<void> gate_stage::learn_redrive_policy()
{
    sqs::get_queue_attributes_request ask(context_.queue_url);
    ask.attribute_names = {"RedrivePolicy"};
    auto const got = co_await context_.api.get_queue_attributes(std::move(ask));
    if (context_.ending) co_return;
    context_.wake.ring();
    auto const policy = got ? sqs::redrive_policy_in(got->attributes) : got.error();
    if (policy) {
        take_up(*policy);
        if (redrive_.succeeded(context_.now()))
            context_.log.write(log_level::info, "redrive policy", "read at last", context_.now());
        co_return;
    }
    auto const receives_work = context_.counters.polls != context_.counters.failed_polls;
    if (!redrive_.failed(receives_work, context_.now(), context_.random)) co_return;
    context_.log.write(log_level::warning, "redrive policy",
        context_.queue_url +
            ": cannot be read (sqs:GetQueueAttributes), so until it can an outage may fill the dead-letter queue" +
            (!context_.options.poison_queue ? ", and rejected messages are put off: " : ": ") +
            describe(policy.error()),
        context_.now());
}

void gate_stage::take_up(sqs::redrive_policy const& policy)
{
    context_.max_receives = policy.max_receives;
    if (context_.options.poison_queue) return;
    auto const is_new = !context_.rejected_go_to;
    auto const name = sqs::queue_name_in(policy.dead_letter_arn);
    // SQS wants a dead-letter queue in the same account and region.
    context_.rejected_go_to = name.empty() ? std::string() : sqs::sibling_of(context_.queue_url, name);
    auto const& o = context_.options;
    auto const may_reject =
        run_.may_reject() || o.on_malformed == malformed_policy::reject || o.max_age || o.max_tries;
    if (is_new && name.empty() && may_reject) {
        log_throttle own(o.log); // explain() would tell it as the last problem for ever
        own.write(log_level::warning, "redrive policy",
            context_.queue_url +
                " has no dead-letter queue, and there is no poison_queue: rejected messages will be deleted",
            context_.now());
    }
}

} // namespace quern::detail
