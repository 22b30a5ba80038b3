#include <quern/broker/detail/settings.hpp>

#include <quern/broker/detail/errors.hpp>
#include <quern/broker/detail/redrive_policy.hpp>
#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/reading.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <iterator>

namespace quern::broker::detail {

using namespace quern::detail;

namespace {

using problem = std::optional<failure>;
using setting_text = std::optional<std::string>;

problem unknown_name(std::string_view name)
{
    return fail(error::invalid_attribute_name, "Unknown Attribute " + std::string(name) + ".");
}

problem bad_value(std::string_view name, std::string_view why = {})
{
    auto message = "Invalid value for the parameter " + std::string(name) + ".";
    if (!why.empty()) message += " Reason: " + std::string(why);
    return fail(error::invalid_attribute_value, std::move(message));
}

/// How one attribute is set and shown. `set` may assume that the attribute suits the type of queue.
struct attribute {
    std::string_view name;
    bool fifo_only;
    problem (*set)(queue_settings&, std::string_view name, std::string_view value);
    setting_text (*show)(queue_settings const&);
};

template <int queue_settings::*Member, int Least, int Most>
constexpr attribute number(std::string_view name)
{
    auto const set = [](queue_settings& s, std::string_view its, std::string_view value) {
        auto const given = text::number_in<int>(value);
        if (!given || *given < Least || *given > Most) return bad_value(its);
        s.*Member = *given;
        return problem();
    };
    return {name, false, set, [](queue_settings const& s) -> setting_text { return std::to_string(s.*Member); }};
}

template <bool queue_settings::*Member>
constexpr attribute flag(std::string_view name, bool fifo_only)
{
    auto const set = [](queue_settings& s, std::string_view its, std::string_view value) {
        auto const given = flag_of(value);
        if (!given) return bad_value(its);
        s.*Member = *given;
        return problem();
    };
    return {
        name, fifo_only, set, [](queue_settings const& s) -> setting_text { return s.*Member ? "true" : "false"; }};
}

/// One of two words, of a FIFO queue.
template <bool queue_settings::*Member, auto& No, auto& Yes>
constexpr attribute choice(std::string_view name)
{
    auto const set = [](queue_settings& s, std::string_view its, std::string_view value) {
        if (value != No && value != Yes) return bad_value(its);
        s.*Member = value == Yes;
        return problem();
    };
    return {name, true, set, [](queue_settings const& s) -> setting_text { return s.*Member ? Yes : No; }};
}
constexpr char of_queue[] = "queue", of_group[] = "messageGroup", per_queue[] = "perQueue",
               per_group[] = "perMessageGroupId";

/// JSON of its own; shown where there is any.
template <auto Member, auto Parse>
constexpr attribute policy(std::string_view name)
{
    auto const set = [](queue_settings& s, std::string_view, std::string_view value) {
        (s.*Member).reset();
        if (value.empty()) return problem();
        auto parsed = Parse(value);
        if (!parsed) return problem(parsed.error());
        s.*Member = std::move(*parsed);
        return problem();
    };
    return {
        name, false, set, [](queue_settings const& s) { return s.*Member ? to_json(*(s.*Member)) : setting_text(); }};
}

constexpr attribute attributes[] = {
    flag<&queue_settings::content_based_deduplication>("ContentBasedDeduplication", true),
    choice<&queue_settings::deduplicate_per_group, of_queue, of_group>("DeduplicationScope"),
    number<&queue_settings::delay, 0, 900>("DelaySeconds"),
    {"FifoQueue", true,
        [](queue_settings&, std::string_view its, std::string_view v) {
            return flag_of(v).value_or(false) ? problem() : bad_value(its, "Modifying queue type is not supported.");
        },
        [](queue_settings const&) -> setting_text { return "true"; }},
    choice<&queue_settings::throughput_per_group, per_queue, per_group>("FifoThroughputLimit"),
    {"KmsDataKeyReusePeriodSeconds", false, number<&queue_settings::kms_reuse, 60, 86'400>({}).set,
        [](queue_settings const& s) {
            return s.kms_key.empty() && s.kms_reuse == 300 ? setting_text() : std::to_string(s.kms_reuse);
        }},
    {"KmsMasterKeyId", false,
        [](queue_settings& s, std::string_view, std::string_view v) {
            s.kms_key = v;
            return problem();
        },
        [](queue_settings const& s) { return s.kms_key.empty() ? setting_text() : s.kms_key; }},
    number<&queue_settings::maximum_message_size, 1024, 1'048'576>("MaximumMessageSize"),
    number<&queue_settings::retention, 60, 1'209'600>("MessageRetentionPeriod"),
    {"Policy", false,
        [](queue_settings& s, std::string_view its, std::string_view v) {
            if (v.size() > max_policy_bytes) return bad_value(its, "Must be at most 8192 bytes long.");
            boost::system::error_code ec;
            if (!v.empty() && (!boost::json::parse(v, ec).is_object() || ec)) return bad_value(its);
            s.policy = v;
            return problem();
        },
        [](queue_settings const& s) { return s.policy.empty() ? setting_text() : s.policy; }},
    number<&queue_settings::wait_time, 0, 20>("ReceiveMessageWaitTimeSeconds"),
    policy<&queue_settings::redrive_allow, parse_redrive_allow_policy>("RedriveAllowPolicy"),
    policy<&queue_settings::redrive, parse_redrive_policy>("RedrivePolicy"),
    flag<&queue_settings::managed_sse>("SqsManagedSseEnabled", false),
    number<&queue_settings::visibility_timeout, 0, 43'200>("VisibilityTimeout"),
};

/// Shown, but not to be set.
constexpr std::string_view read_only[] = {"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed",
    "ApproximateNumberOfMessagesNotVisible", "CreatedTimestamp", "LastModifiedTimestamp", "QueueArn"};

attribute const* find(std::string_view name)
{
    auto const at = std::ranges::find(attributes, name, &attribute::name);
    return at == std::end(attributes) ? nullptr : &*at;
}

problem set_one(queue_settings& settings, std::string const& name, std::string const& value)
{
    auto const* known = find(name);
    if (!known) return unknown_name(name);
    if (known->fifo_only && !settings.fifo) {
        if (name != "DeduplicationScope" && name != "FifoThroughputLimit") return unknown_name(name);
        return fail(
            error::invalid_attribute_name, "You can specify the " + name + " only when FifoQueue is set to true.");
    }
    return known->set(settings, name, value);
}

/// One kind of server-side encryption at a time: choosing one switches the other off, asking for both is an error.
problem reconcile_encryption(queue_settings& settings, sqs::string_map const& given)
{
    auto const key = given.find("KmsMasterKeyId");
    bool const wants_kms = key != given.end() && !key->second.empty();
    bool const wants_managed = given.contains("SqsManagedSseEnabled") && settings.managed_sse;
    if (wants_kms && wants_managed) {
        return fail(error::invalid_attribute_name,
            "You can use one type of server-side encryption (SSE) at one time. "
            "You can either enable KMS SSE or SQS SSE.");
    }
    if (wants_kms) settings.managed_sse = false;
    if (wants_managed) settings.kms_key.clear();
    return {};
}

} // namespace

std::optional<bool> flag_of(std::string_view value)
{
    auto const lower = text::lower_case(value);
    if (lower == "true") return true;
    if (lower == "false") return false;
    return {};
}

std::optional<failure> apply(queue_settings& settings, sqs::string_map const& given)
{
    auto next = settings;
    for (auto const& [name, value] : given) {
        if (auto bad = set_one(next, name, value)) return bad;
    }
    if (auto bad = reconcile_encryption(next, given)) return bad;
    if (next.throughput_per_group && !next.deduplicate_per_group) {
        return bad_value("FifoThroughputLimit",
            "The perMessageGroupId value is allowed only when the value for DeduplicationScope is messageGroup.");
    }
    settings = std::move(next);
    return {};
}

std::optional<std::string> text_of(queue_settings const& settings, std::string_view name)
{
    auto const* known = find(name);
    if (!known || (known->fifo_only && !settings.fifo)) return {};
    return known->show(settings);
}

sqs::string_map texts_of(queue_settings const& settings)
{
    sqs::string_map out;
    for (auto const& one : attributes) {
        if (auto value = text_of(settings, one.name)) out.emplace(one.name, std::move(*value));
    }
    return out;
}

bool is_queue_attribute(std::string_view name)
{
    return find(name) || std::ranges::find(read_only, name) != std::end(read_only);
}

} // namespace quern::broker::detail
