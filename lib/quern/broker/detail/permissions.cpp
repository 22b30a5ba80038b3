#include <quern/broker/detail/permissions.hpp>

#include <quern/broker/detail/errors.hpp>
#include <quern/broker/detail/settings.hpp>
#include <quern/sqs/limits.hpp>

#include <boost/json.hpp>

#include <algorithm>

namespace quern::broker {
namespace {

namespace json = boost::json;

/// Actions that another account may be allowed (SQS API reference, AddPermission, and its links).
constexpr std::string_view actions[] = {"*", "ChangeMessageVisibility", "ChangeMessageVisibilityBatch",
    "DeleteMessage", "DeleteMessageBatch", "DeleteQueue", "GetQueueAttributes", "GetQueueUrl",
    "ListDeadLetterSourceQueues", "PurgeQueue", "ReceiveMessage", "SendMessage", "SendMessageBatch",
    "SetQueueAttributes"};

constexpr std::size_t most_actions = 7; // a statement: SQS API reference, AddPermission

/// A list, or its only element by itself.
json::value one_or_many(std::vector<std::string> const& values)
{
    if (values.size() == 1) return json::string(values.front());
    return json::array(values.begin(), values.end());
}

/// The policy as an object with a list of statements.
json::object parse_policy(std::string_view text)
{
    json::object policy;
    if (!text.empty()) {
        boost::system::error_code ec;
        auto value = json::parse(text, ec);
        if (!ec && value.is_object()) policy = std::move(value.as_object());
    }
    auto& statements = policy["Statement"];
    if (statements.is_object()) statements = json::array{statements};
    if (!statements.is_array()) statements = json::array();
    return policy;
}

bool has_label(json::value const& statement, std::string_view label)
{
    auto const* object = statement.if_object();
    auto const* sid = object ? object->if_contains("Sid") : nullptr;
    return sid && sid->is_string() && sid->as_string() == json::string_view(label.data(), label.size());
}

failure missing(std::string_view parameter)
{
    return fail(error::missing_parameter, "The request must contain the parameter " + std::string(parameter) + ".");
}

} // namespace

result<std::string> add_permission(
    std::string_view text, std::string_view arn, sqs::add_permission_request const& request)
{
    if (request.label.empty()) return missing("Label");
    if (request.account_ids.empty()) return missing("AWSAccountIds");
    if (request.actions.empty()) return missing("Actions");
    if (!sqs::is_entry_id(request.label)) {
        return refuse("Label", request.label,
            "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length.");
    }
    for (auto const& action : request.actions) {
        if (std::ranges::find(actions, action) == std::end(actions)) {
            return refuse(
                "ActionName", "SQS:" + action, "Please refer to the appropriate WSDL for a list of valid actions. ");
        }
    }
    if (request.actions.size() > most_actions) {
        return fail(
            error::over_limit, std::to_string(request.actions.size()) + " Actions were found, maximum allowed is 7.");
    }

    auto policy = parse_policy(text);
    if (text.empty()) {
        policy["Version"] = "2008-10-17";
        policy["Id"] = std::string(arn) + "/SQSDefaultPolicy";
    }
    auto& statements = policy["Statement"].as_array();
    auto const taken = [&](json::value const& one) { return has_label(one, request.label); };
    if (std::ranges::any_of(statements, taken)) return refuse("Label", request.label, "Already exists.");

    std::vector<std::string> principals;
    auto const partition = std::string(arn.substr(0, arn.find(":sqs:"))); // "arn:aws", "arn:aws-cn"
    for (auto const& account : request.account_ids)
        principals.push_back(partition + ":iam::" + account + ":root");
    std::vector<std::string> allowed;
    for (auto const& action : request.actions)
        allowed.push_back("SQS:" + action);
    statements.push_back(json::object{{"Sid", request.label}, {"Effect", "Allow"},
        {"Principal", json::object{{"AWS", one_or_many(principals)}}}, {"Action", one_or_many(allowed)},
        {"Resource", std::string(arn)}});
    auto out = json::serialize(policy);
    if (out.size() > max_policy_bytes)
        return fail(
            error::over_limit, "The policy would be longer than " + std::to_string(max_policy_bytes) + " bytes.");
    return out;
}

result<std::string> remove_permission(std::string_view text, std::string_view label)
{
    if (label.empty()) return missing("Label");
    auto policy = parse_policy(text);
    auto& statements = policy["Statement"].as_array();
    auto const at = std::ranges::find_if(statements, [&](json::value const& one) { return has_label(one, label); });
    if (at == statements.end()) return refuse("Label", label, "can't find label.");
    statements.erase(at);
    return statements.empty() ? std::string() : json::serialize(policy);
}

} // namespace quern::broker
