#include <quern/broker/detail/settings.hpp>

#include <quern/broker/detail/errors.hpp>
#include <quern/broker/detail/redrive_policy.hpp>
#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/reading.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <iterator>

namespace quern::broker {
namespace {

using problem = std::optional<failure>;
using setting_text = std::optional<std::string>;
constexpr std::string_view per_group = "perMessageGroupId";

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

problem set_number(int& out, std::string_view name, std::string_view value, int least, int most)
{
    auto const number = text::number_in<int>(value);
    if (!number || *number < least || *number > most) return bad_value(name);
    out = *number;
    return {};
}

problem set_flag(bool& out, std::string_view name, std::string_view value)
{
    auto const flag = flag_of(value);
    if (!flag) return bad_value(name);
    out = *flag;
    return {};
}

problem set_choice(
    bool& out, std::string_view name, std::string_view value, std::string_view no, std::string_view yes)
{
    if (value != no && value != yes) return bad_value(name);
    out = value == yes;
    return {};
}

setting_text flag(bool value)
{
    return value ? "true" : "false";
}

/// How one attribute is set and shown. `set` may assume that the attribute suits the type of queue.
struct attribute {
    std::string_view name;
    bool fifo_only;
    problem (*set)(queue_settings&, std::string_view value);
    setting_text (*show)(queue_settings const&);
};

constexpr attribute attributes[] = {
    {"ContentBasedDeduplication", true,
        [](queue_settings& s, std::string_view v) {
            return set_flag(s.content_based_deduplication, "ContentBasedDeduplication", v);
        },
        [](queue_settings const& s) { return flag(s.content_based_deduplication); }},
    {"DeduplicationScope", true,
        [](queue_settings& s, std::string_view v) {
            return set_choice(s.deduplicate_per_group, "DeduplicationScope", v, "queue", "messageGroup");
        },
        [](queue_settings const& s) -> setting_text { return s.deduplicate_per_group ? "messageGroup" : "queue"; }},
    {"DelaySeconds", false,
        [](queue_settings& s, std::string_view v) { return set_number(s.delay, "DelaySeconds", v, 0, 900); },
        [](queue_settings const& s) -> setting_text { return std::to_string(s.delay); }},
    {"FifoQueue", true,
        [](queue_settings&, std::string_view v) {
            return flag_of(v).value_or(false) ? problem()
                                              : bad_value("FifoQueue", "Modifying queue type is not supported.");
        },
        [](queue_settings const&) { return flag(true); }},
    {"FifoThroughputLimit", true,
        [](queue_settings& s, std::string_view v) {
            return set_choice(s.throughput_per_group, "FifoThroughputLimit", v, "perQueue", per_group);
        },
        [](queue_settings const& s) -> setting_text {
            return std::string(s.throughput_per_group ? per_group : "perQueue");
        }},
    {"KmsDataKeyReusePeriodSeconds", false,
        [](queue_settings& s, std::string_view v) {
            return set_number(s.kms_reuse, "KmsDataKeyReusePeriodSeconds", v, 60, 86'400);
        },
        [](queue_settings const& s) {
            return s.kms_key.empty() && s.kms_reuse == 300 ? setting_text() : std::to_string(s.kms_reuse);
        }},
    {"KmsMasterKeyId", false,
        [](queue_settings& s, std::string_view v) {
            s.kms_key = v;
            return problem();
        },
        [](queue_settings const& s) { return s.kms_key.empty() ? setting_text() : s.kms_key; }},
    {"MaximumMessageSize", false,
        [](queue_settings& s, std::string_view v) {
            return set_number(s.maximum_message_size, "MaximumMessageSize", v, 1024, 1'048'576);
        },
        [](queue_settings const& s) -> setting_text { return std::to_string(s.maximum_message_size); }},
    {"MessageRetentionPeriod", false,
        [](queue_settings& s, std::string_view v) {
            return set_number(s.retention, "MessageRetentionPeriod", v, 60, 1'209'600);
        },
        [](queue_settings const& s) -> setting_text { return std::to_string(s.retention); }},
    {"Policy", false,
        [](queue_settings& s, std::string_view v) {
            if (v.size() > max_policy_bytes) return bad_value("Policy", "Must be at most 8192 bytes long.");
            boost::system::error_code ec;
            if (!v.empty() && (!boost::json::parse(v, ec).is_object() || ec)) return bad_value("Policy");
            s.policy = v;
            return problem();
        },
        [](queue_settings const& s) { return s.policy.empty() ? setting_text() : s.policy; }},
    {"ReceiveMessageWaitTimeSeconds", false,
        [](queue_settings& s, std::string_view v) {
            return set_number(s.wait_time, "ReceiveMessageWaitTimeSeconds", v, 0, 20);
        },
        [](queue_settings const& s) -> setting_text { return std::to_string(s.wait_time); }},
    {"RedriveAllowPolicy", false,
        [](queue_settings& s, std::string_view v) {
            s.redrive_allow.reset();
            if (v.empty()) return problem();
            auto parsed = parse_redrive_allow_policy(v);
            if (!parsed) return problem(parsed.error());
            s.redrive_allow = std::move(*parsed);
            return problem();
        },
        [](queue_settings const& s) { return s.redrive_allow ? to_json(*s.redrive_allow) : setting_text(); }},
    {"RedrivePolicy", false,
        [](queue_settings& s, std::string_view v) {
            s.redrive.reset();
            if (v.empty()) return problem();
            auto parsed = parse_redrive_policy(v);
            if (!parsed) return problem(parsed.error());
            s.redrive = std::move(*parsed);
            return problem();
        },
        [](queue_settings const& s) { return s.redrive ? to_json(*s.redrive) : setting_text(); }},
    {"SqsManagedSseEnabled", false,
        [](queue_settings& s, std::string_view v) { return set_flag(s.managed_sse, "SqsManagedSseEnabled", v); },
        [](queue_settings const& s) { return flag(s.managed_sse); }},
    {"VisibilityTimeout", false,
        [](queue_settings& s, std::string_view v) {
            return set_number(s.visibility_timeout, "VisibilityTimeout", v, 0, 43'200);
        },
        [](queue_settings const& s) -> setting_text { return std::to_string(s.visibility_timeout); }},
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
    return known->set(settings, value);
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

} // namespace quern::broker
