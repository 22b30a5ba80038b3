#include <quern/aws/config/detail/partitions.hpp>
#include <quern/broker/detail/engine_state.hpp>

#include <algorithm>

namespace quern::broker {

using namespace detail;

namespace {

using std::chrono::seconds;

failure no_such_queue()
{
    return fail(error::queue_does_not_exist, "The specified queue does not exist.");
}

struct queue_path {
    std::string_view account; ///< empty: none was named
    std::string_view name;
};

/// A slash behind the name is none of it; behind a host it is the path.
std::string_view without_last_slash(std::string_view url)
{
    if (!url.ends_with('/')) return url;
    auto const shorter = url.substr(0, url.size() - 1);
    auto const name = shorter.substr(shorter.rfind('/') + 1);
    bool const is_host = shorter.substr(0, shorter.size() - name.size()).ends_with("//");
    return name.empty() || is_host ? url : shorter;
}

/// The last two segments of a QueueUrl, the last one of a url whose last but one is no account.
queue_path account_and_name(std::string_view url)
{
    url = without_last_slash(url);
    auto const slash = url.rfind('/');
    if (slash == url.npos) return {{}, url};
    auto const before = url.substr(0, slash);
    auto const account = before.substr(before.rfind('/') + 1);
    bool const is_account = account.size() == 12 && account.find_first_not_of("0123456789") == account.npos;
    return {is_account ? account : std::string_view(), url.substr(slash + 1)};
}

struct arn_home {
    std::string_view region, account;
};

/// arn:partition:sqs:region:account:name
arn_home home_of(std::string_view arn)
{
    auto const before_name = arn.substr(0, arn.rfind(':'));
    auto const colon = before_name.rfind(':');
    auto const before_account = before_name.substr(0, colon);
    return {before_account.substr(before_account.rfind(':') + 1), before_name.substr(colon + 1)};
}

/// The urls of one page, out of all queues in the order of their names. The token is the last name of the page
/// before.
template <class State, class Wanted>
result<sqs::queue_urls_response> page(State const& of, std::optional<std::string> const& token,
    std::optional<int> max_results, std::string_view from_name, Wanted wanted)
{
    constexpr int most = 1000; // SQS API reference, ListQueues
    if (auto bad = check_max_results(max_results, most)) return *bad;
    auto const here = of.arn_prefix();
    if (token && check_queue_name(*token, token->ends_with(".fifo"))) {
        return fail(error::invalid_parameter_value, "Invalid or expired next token.");
    }
    sqs::queue_urls_response out;
    auto at = token ? of.queues.upper_bound(here + *token) : of.queues.lower_bound(here + std::string(from_name));
    std::string_view last;
    for (; at != of.queues.end() && at->first.starts_with(here); ++at) {
        if (!wanted(*at->second)) continue;
        if (static_cast<int>(out.queue_urls.size()) == max_results.value_or(most)) {
            if (max_results) out.next_token = last;
            break;
        }
        out.queue_urls.push_back(of.url_of(*at->second));
        last = at->second->name;
    }
    return out;
}

} // namespace

result<queue*> engine_state::by_url(std::string_view url)
{
    if (url.empty()) return missing_parameter("QueueUrl");
    auto const [account, name] = account_and_name(url);
    if (name.empty()) {
        return fail(error::invalid_address, "The address " + std::string(url) + " is not valid for this endpoint.");
    }
    auto* const found = by_name(name, account);
    if (!found) return no_such_queue();
    return found;
}

queue* engine_state::by_name(std::string_view name, std::string_view account)
{
    return by_arn(arn_prefix(account).append(name));
}

queue* engine_state::by_arn(std::string_view arn)
{
    auto const at = queues.find(arn);
    return at == queues.end() ? nullptr : at->second.get();
}

result<queue*> engine_state::find(std::string_view named)
{
    if (auto* const exact = by_arn(named)) return exact;
    auto const [account, name] = account_and_name(named);
    auto const region = aws::detail::home_of(named).region; // of Amazon's hosts: ours name none
    std::vector<queue*> meant;
    for (auto const& [arn, q] : queues) {
        auto const home = home_of(arn);
        if (q->name != name || (!account.empty() && home.account != account)) continue;
        if (region.empty() || home.region == region) meant.push_back(q.get());
    }
    if (meant.size() == 1) return meant.front();
    if (meant.empty())
        return fail(
            error::queue_does_not_exist, "There is no queue \"" + brief(named) + "\": give a name, an ARN or a url.");
    return fail(error::invalid_parameter_value,
        '"' + brief(named) + "\" may be " + std::to_string(meant.size()) + " queues, " + meant[0]->arn + " and " +
            meant[1]->arn + (meant.size() == 2 ? "" : " among them") + ": give the ARN.");
}

std::string engine_state::url_of(queue const& q) const
{
    return options.base_url + '/' + std::string(home_of(q.arn).account) + '/' + q.name;
}

std::optional<failure> engine_state::check_redrive(queue_settings const& settings, std::string_view own_arn)
{
    if (!settings.redrive) return {};
    auto const no = [&](std::string_view why) {
        return invalid_parameter("RedrivePolicy", *text_of(settings, "RedrivePolicy"), why);
    };
    std::string_view const target_arn = settings.redrive->target_arn;
    bool const here = target_arn.substr(0, target_arn.rfind(':')) == own_arn.substr(0, own_arn.rfind(':'));
    auto const* target = by_arn(target_arn);
    if (!target || !here) return no("Dead letter target does not exist.");
    if (target->fifo() != settings.fifo) return no("Dead-letter queue must be same type of queue as the source.");
    auto const& allow = target->settings().redrive_allow;
    if (allow && !allow->allows(own_arn)) return no("The dead-letter queue does not allow this queue as its source.");
    return {};
}

result<sqs::queue_url_response> engine::create_queue(sqs::create_queue_request const& request, instant now)
{
    advance(now);
    auto& name = request.queue_name;
    auto const wants_fifo = request.attributes.find("FifoQueue");
    queue_settings settings;
    settings.fifo = wants_fifo != request.attributes.end() && flag_of(wants_fifo->second).value_or(false);

    if (auto* const existing = state_->by_name(name)) {
        // The same name with the same values of the attributes that are given is the same queue.
        for (auto const& [attribute, value] : request.attributes) {
            auto asked = existing->settings();
            if (auto bad = apply(asked, {{attribute, value}})) return *bad;
            if (text_of(asked, attribute) != text_of(existing->settings(), attribute)) {
                return fail(error::queue_name_exists,
                    "A queue already exists with the same name and a different value for attribute " + attribute);
            }
        }
        return sqs::queue_url_response{state_->url_of(*existing)};
    }

    if (auto bad = check_queue_name(name, settings.fifo)) return *bad;
    if (auto bad = apply(settings, request.attributes)) return *bad;
    if (auto bad = check_tags(request.tags)) return *bad;
    auto created = std::make_unique<queue>(*state_, state_->arn_prefix() + name, std::move(settings), now);
    if (auto bad = state_->check_redrive(created->settings(), created->arn)) return *bad;
    auto const rest = state_->options.name_rest;
    if (auto const at = state_->deleted.find(created->arn); at != state_->deleted.end() && now < at->second + rest) {
        return fail(error::queue_deleted_recently,
            "You must wait " + std::to_string(rest.count()) +
                " seconds after deleting a queue before you can create another with the same name.");
    }

    created->tags = request.tags;
    state_->deleted.erase(created->arn);
    state_->record.changed(*created);
    auto const url = state_->url_of(*created);
    auto arn = created->arn;
    state_->queues.emplace(std::move(arn), std::move(created));
    return sqs::queue_url_response{url};
}

result<sqs::empty_response> engine::delete_queue(sqs::delete_queue_request const& request, instant now)
{
    advance(now);
    auto const found = state_->by_url(request.queue_url);
    if (!found) return found.error();
    auto& gone = **found;
    while (!gone.polls.empty())
        state_->finish(gone.polls.front(), no_such_queue());
    auto const rest = state_->options.name_rest;
    std::erase_if(state_->deleted, [&](auto const& one) { return one.second + rest <= now; });
    if (rest > seconds(0)) state_->deleted.insert_or_assign(gone.arn, now);
    state_->record.gone(gone);
    state_->queues.erase(state_->queues.find(gone.arn));
    return sqs::empty_response();
}

result<sqs::empty_response> engine::purge_queue(sqs::purge_queue_request const& request, instant now)
{
    advance(now);
    auto const found = state_->by_url(request.queue_url);
    if (!found) return found.error();
    auto& purged = **found;
    if (purged.purged_at && now < *purged.purged_at + state_->options.purge_rest) {
        return fail(error::purge_queue_in_progress,
            "Only one PurgeQueue operation on " + purged.name + " is allowed every " +
                std::to_string(state_->options.purge_rest.count()) + " seconds.");
    }
    purged.purge(now);
    return sqs::empty_response();
}

result<sqs::queue_url_response> engine::get_queue_url(sqs::get_queue_url_request const& request, instant now)
{
    advance(now);
    if (request.queue_name.empty()) return missing_parameter("QueueName");
    auto const* found = state_->by_name(request.queue_name, request.owner_account_id.value_or(""));
    if (!found) return no_such_queue();
    return sqs::queue_url_response{state_->url_of(*found)};
}

result<sqs::queue_urls_response> engine::list_queues(sqs::list_queues_request const& request, instant now)
{
    advance(now);
    auto const prefix = request.name_prefix.value_or("");
    return page(*state_, request.next_token, request.max_results, prefix,
        [&](queue const& q) { return q.name.starts_with(prefix); });
}

result<sqs::queue_urls_response> engine::list_dead_letter_source_queues(
    sqs::list_dead_letter_source_queues_request const& request, instant now)
{
    advance(now);
    auto const found = state_->by_url(request.queue_url);
    if (!found) return found.error();
    return page(*state_, request.next_token, request.max_results, "",
        [&](queue const& q) { return q.settings().redrive && q.settings().redrive->target_arn == (*found)->arn; });
}

} // namespace quern::broker
