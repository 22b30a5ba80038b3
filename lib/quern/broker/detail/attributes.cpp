#include <quern/broker/detail/engine_state.hpp>
#include <quern/broker/detail/permissions.hpp>

#include <algorithm>

namespace quern::broker {
namespace {

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
