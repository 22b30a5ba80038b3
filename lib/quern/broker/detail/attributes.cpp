#include <quern/broker/detail/engine_state.hpp>

#include <quern/broker/detail/errors.hpp>
#include <quern/broker/detail/settings.hpp>
#include <quern/core/error.hpp>
#include <quern/sqs/limits.hpp>
#include <quern/sqs/types.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace quern::broker {

using namespace detail;

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

/// AddPermission on a queue's Policy, "" for none: the new policy, with one statement more.
result<std::string> add_permission(
    std::string_view text, std::string_view arn, sqs::add_permission_request const& request)
{
    if (request.label.empty()) return missing_parameter("Label");
    if (request.account_ids.empty()) return missing_parameter("AWSAccountIds");
    if (request.actions.empty()) return missing_parameter("Actions");
    if (!sqs::is_entry_id(request.label)) {
        return invalid_parameter("Label", request.label,
            "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length.");
    }
    for (auto const& action : request.actions) {
        if (std::ranges::find(actions, action) == std::end(actions)) {
            return invalid_parameter(
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
    if (std::ranges::any_of(statements, taken)) return invalid_parameter("Label", request.label, "Already exists.");

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

/// RemovePermission: the new policy, "" when no statement is left.
result<std::string> remove_permission(std::string_view text, std::string_view label)
{
    if (label.empty()) return missing_parameter("Label");
    auto policy = parse_policy(text);
    auto& statements = policy["Statement"].as_array();
    auto const at = std::ranges::find_if(statements, [&](json::value const& one) { return has_label(one, label); });
    if (at == statements.end()) return invalid_parameter("Label", label, "can't find label.");
    statements.erase(at);
    return statements.empty() ? std::string() : json::serialize(policy);
}

/// All attributes that GetQueueAttributes shows.
sqs::string_map all_attributes(queue const& of)
{
    auto out = texts_of(of.settings());
    out.emplace("ApproximateNumberOfMessages", std::to_string(of.visible()));
    out.emplace("ApproximateNumberOfMessagesDelayed", std::to_string(of.delayed()));
    out.emplace("ApproximateNumberOfMessagesNotVisible", std::to_string(of.in_flight()));
    out.emplace("CreatedTimestamp", std::to_string(of.created_at));
    out.emplace("LastModifiedTimestamp", std::to_string(of.modified_at));
    out.emplace("QueueArn", of.arn);
    return out;
}

} // namespace

result<sqs::attributes_response> engine::get_queue_attributes(
    sqs::get_queue_attributes_request const& request, instant now)
{
    advance(now);
    auto const found = state_->by_url(request.queue_url);
    if (!found) return found.error();
    auto const& names = request.attribute_names;
    auto const unknown = std::ranges::find_if(names, [](auto& n) { return n != "All" && !is_queue_attribute(n); });
    if (unknown != names.end()) return fail(error::invalid_attribute_name, "Unknown Attribute " + *unknown + ".");

    sqs::attributes_response out;
    if (names.empty()) return out;
    out.attributes = all_attributes(**found);
    if (std::ranges::find(names, "All") == names.end()) {
        std::erase_if(
            out.attributes, [&](auto const& one) { return std::ranges::find(names, one.first) == names.end(); });
    }
    return out;
}

result<sqs::empty_response> engine::set_queue_attributes(
    sqs::set_queue_attributes_request const& request, instant now)
{
    advance(now);
    auto const found = state_->by_url(request.queue_url);
    if (!found) return found.error();
    if (request.attributes.empty()) return missing_parameter("Attributes");
    auto& changed = **found;
    auto next = changed.settings();
    if (auto bad = apply(next, request.attributes)) return *bad;
    if (request.attributes.contains("RedrivePolicy")) {
        if (auto bad = state_->check_redrive(next, changed.arn)) return *bad;
    }
    changed.set(std::move(next), now);
    return sqs::empty_response();
}

result<sqs::empty_response> engine::tag_queue(sqs::tag_queue_request const& request, instant now)
{
    advance(now);
    auto const found = state_->by_url(request.queue_url);
    if (!found) return found.error();
    if (request.tags.empty()) return missing_parameter("Tags");
    auto next = (*found)->tags;
    for (auto const& [key, value] : request.tags)
        next.insert_or_assign(key, value);
    if (auto bad = check_tags(next)) return *bad;
    (*found)->tags = std::move(next);
    state_->record.changed(**found);
    return sqs::empty_response();
}

result<sqs::empty_response> engine::untag_queue(sqs::untag_queue_request const& request, instant now)
{
    advance(now);
    auto const found = state_->by_url(request.queue_url);
    if (!found) return found.error();
    if (request.tag_keys.empty()) return missing_parameter("TagKeys");
    for (auto const& key : request.tag_keys)
        (*found)->tags.erase(key);
    state_->record.changed(**found);
    return sqs::empty_response();
}

result<sqs::tags_response> engine::list_queue_tags(sqs::list_queue_tags_request const& request, instant now)
{
    advance(now);
    auto const found = state_->by_url(request.queue_url);
    if (!found) return found.error();
    return sqs::tags_response{(*found)->tags};
}

result<sqs::empty_response> engine::add_permission(sqs::add_permission_request const& request, instant now)
{
    advance(now);
    auto const found = state_->by_url(request.queue_url);
    if (!found) return found.error();
    auto next = (*found)->settings();
    auto policy = broker::add_permission(next.policy, (*found)->arn, request);
    if (!policy) return policy.error();
    next.policy = std::move(*policy);
    (*found)->set(std::move(next), now);
    return sqs::empty_response();
}

result<sqs::empty_response> engine::remove_permission(sqs::remove_permission_request const& request, instant now)
{
    advance(now);
    auto const found = state_->by_url(request.queue_url);
    if (!found) return found.error();
    auto next = (*found)->settings();
    auto policy = broker::remove_permission(next.policy, request.label);
    if (!policy) return policy.error();
    next.policy = std::move(*policy);
    (*found)->set(std::move(next), now);
    return sqs::empty_response();
}

} // namespace quern::broker
