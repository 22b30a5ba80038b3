#include <quern/broker/detail/redrive_policy.hpp>

#include <quern/broker/detail/errors.hpp>
#include <quern/core/detail/text/reading.hpp>

#include <boost/json.hpp>

#include <algorithm>

namespace quern::broker::detail {

using namespace quern::detail;

namespace {

namespace json = boost::json;

std::optional<json::object> parse_object(std::string_view text)
{
    boost::system::error_code ec;
    auto value = json::parse(text, ec);
    if (ec || !value.is_object()) return {};
    return std::move(value.as_object());
}

std::optional<int> whole_number(json::value const& value)
{
    if (auto const* number = value.if_int64()) {
        if (*number >= 0 && *number <= 1'000'000) return static_cast<int>(*number);
        return {};
    }
    auto const* text = value.if_string();
    if (!text) return {};
    return text::number_in<int>(*text);
}

} // namespace

bool redrive_allow_policy::allows(std::string_view source_arn) const
{
    if (who == permission::by_queue) return std::ranges::find(source_arns, source_arn) != source_arns.end();
    return who == permission::allow_all;
}

result<redrive_policy> parse_redrive_policy(std::string_view text)
{
    auto const no = [&](std::string_view why) { return invalid_parameter("RedrivePolicy", text, why); };
    auto const object = parse_object(text);
    if (!object) return no("Redrive policy is not a valid JSON map.");
    auto const* target = object->if_contains("deadLetterTargetArn");
    if (!target || !target->is_string() || target->as_string().empty()) {
        return no("Redrive policy does not contain mandatory attribute: deadLetterTargetArn.");
    }
    auto const* count = object->if_contains("maxReceiveCount");
    if (!count) return no("Redrive policy does not contain mandatory attribute: maxReceiveCount.");
    auto const number = whole_number(*count);
    if (!number || *number < 1 || *number > 1000) {
        return no("Invalid value for maxReceiveCount: " + json::serialize(*count) +
            ", valid values are from 1 to 1000 both inclusive.");
    }
    return redrive_policy{std::string(target->as_string()), *number};
}

result<redrive_allow_policy> parse_redrive_allow_policy(std::string_view text)
{
    using permission = redrive_allow_policy::permission;
    auto const no = [&](std::string_view why) { return invalid_parameter("RedriveAllowPolicy", text, why); };
    auto const object = parse_object(text);
    if (!object) return no("Redrive allow policy is not a valid JSON map.");
    auto const* who = object->if_contains("redrivePermission");
    if (!who || !who->is_string()) {
        return no("Redrive allow policy does not contain mandatory attribute: redrivePermission.");
    }

    redrive_allow_policy out;
    auto const& name = who->as_string();
    if (name == "allowAll") {
        out.who = permission::allow_all;
    } else if (name == "denyAll") {
        out.who = permission::deny_all;
    } else if (name == "byQueue") {
        out.who = permission::by_queue;
    } else {
        return no("redrivePermission must be allowAll, denyAll or byQueue.");
    }

    if (auto const* arns = object->if_contains("sourceQueueArns")) {
        if (out.who != permission::by_queue) return no("sourceQueueArns are valid with byQueue only.");
        if (!arns->is_array()) return no("sourceQueueArns must be a list.");
        for (auto const& arn : arns->as_array()) {
            if (!arn.is_string()) return no("sourceQueueArns must be a list of strings.");
            out.source_arns.emplace_back(arn.as_string());
        }
    }
    if (out.who == permission::by_queue && (out.source_arns.empty() || out.source_arns.size() > 10)) {
        return no("byQueue needs 1 to 10 sourceQueueArns.");
    }
    return out;
}

std::string to_json(redrive_policy const& policy)
{
    return json::serialize(
        json::object{{"deadLetterTargetArn", policy.target_arn}, {"maxReceiveCount", policy.max_receive_count}});
}

std::string to_json(redrive_allow_policy const& policy)
{
    using permission = redrive_allow_policy::permission;
    if (policy.who == permission::allow_all) return R"({"redrivePermission":"allowAll"})";
    if (policy.who == permission::deny_all) return R"({"redrivePermission":"denyAll"})";
    return json::serialize(json::object{{"redrivePermission", "byQueue"},
        {"sourceQueueArns", json::array(policy.source_arns.begin(), policy.source_arns.end())}});
}

} // namespace quern::broker::detail
