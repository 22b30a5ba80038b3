#include <quern/sqs/batch.hpp>

#include <quern/sqs/detail/failures.hpp>
#include <quern/sqs/detail/split_and_join.hpp>
#include <quern/sqs/limits.hpp>

#include <charconv>
#include <map>

namespace quern::sqs {

using namespace detail;

namespace {

namespace asio = boost::asio;

using refusals = std::map<std::size_t, failure>; // by position

/// Gives each entry its position as id and takes out those that break a limit.
template <class Entry>
refusals prepare(std::vector<Entry>& entries)
{
    refusals refused;
    for (std::size_t i = 0; i != entries.size(); ++i) {
        entries[i].id = std::to_string(i);
        if (auto why = check(entries[i])) refused.emplace(i, std::move(*why));
    }
    std::size_t at = 0;
    if (!refused.empty()) std::erase_if(entries, [&](Entry const&) { return refused.contains(at++); });
    return refused;
}

/// The results of one call by position: what was refused here, and the answer or the failure of the call.
template <class Outcomes, class Response>
Outcomes conclude(std::size_t count, refusals refused, result<Response> answer)
{
    Outcomes out = answer ? join(count, std::move(*answer)) : Outcomes(count, answer.error());
    for (auto& [position, why] : refused)
        out[position] = std::move(why);
    return out;
}

template <class Outcomes, class Entry, class Request, class Response>
asio::awaitable<Outcomes> one_call(
    api& service, std::string queue_url, std::vector<Entry> entries, answer<Response> (api::*call)(Request))
{
    auto const count = entries.size();
    refusals refused = prepare(entries);
    result<Response> reply = Response();
    if (!entries.empty()) {
        Request request(std::move(queue_url), std::move(entries));
        reply = co_await (service.*call)(std::move(request));
    }
    co_return conclude<Outcomes>(count, std::move(refused), std::move(reply));
}

std::optional<std::size_t> position(std::string const& id, std::size_t count)
{
    std::size_t out = 0;
    std::from_chars(id.data(), id.data() + id.size(), out);
    if (out >= count || id != std::to_string(out)) return {};
    return out;
}

template <class Outcomes, class Done, class Value>
Outcomes join_by_position(std::size_t count, batch_response<Done> answer, Value value_of)
{
    Outcomes out(count);
    std::vector<int> mentions(count);
    for (auto& entry : answer.successful) {
        auto const at = position(entry.id, count);
        if (at && mentions[*at]++ == 0) out[*at] = value_of(std::move(entry));
    }
    for (auto& entry : answer.failed) {
        auto const at = position(entry.id, count);
        if (at && mentions[*at]++ == 0) out[*at] = entry_failure(std::move(entry));
    }
    for (std::size_t i = 0; i != count; ++i) {
        if (mentions[i] == 0) out[i] = failure(errc::not_confirmed, "the answer does not mention this entry", true);
        if (mentions[i] > 1) out[i] = failure(errc::not_confirmed, "the answer mentions this entry twice", true);
    }
    return out;
}

std::vector<delete_message_entry> entries_of(std::vector<std::string> receipt_handles)
{
    std::vector<delete_message_entry> entries;
    entries.reserve(receipt_handles.size());
    for (auto& handle : receipt_handles)
        entries.emplace_back(std::string(), std::move(handle));
    return entries;
}

} // namespace

std::vector<std::size_t> detail::split(std::span<std::size_t const> sizes)
{
    std::vector<std::size_t> counts;
    std::size_t bytes = 0;
    for (std::size_t const size : sizes) {
        bool const full = counts.empty() || counts.back() == max_batch_entries || bytes + size > max_message_bytes;
        if (full) {
            counts.push_back(0);
            bytes = 0;
        }
        ++counts.back();
        bytes += size;
    }
    return counts;
}

outcomes detail::join(std::size_t count, batch_response<done_entry> answer)
{
    return join_by_position<outcomes>(count, std::move(answer), [](done_entry) { return result<void>(); });
}

send_outcomes detail::join(std::size_t count, send_message_batch_response answer)
{
    auto const value_of = [](sent_message sent) -> send_message_response { return sent; };
    return join_by_position<send_outcomes>(count, std::move(answer), value_of);
}

asio::awaitable<send_outcomes> send_batch(
    api& service, std::string queue_url, std::vector<send_message_entry> entries)
{
    return one_call<send_outcomes>(service, std::move(queue_url), std::move(entries), &api::send_message_batch);
}

asio::awaitable<outcomes> delete_batch(api& service, std::string queue_url, std::vector<std::string> receipt_handles)
{
    return one_call<outcomes>(
        service, std::move(queue_url), entries_of(std::move(receipt_handles)), &api::delete_message_batch);
}

asio::awaitable<outcomes> change_visibility_batch(
    api& service, std::string queue_url, std::vector<change_visibility_entry> entries)
{
    return one_call<outcomes>(
        service, std::move(queue_url), std::move(entries), &api::change_message_visibility_batch);
}

} // namespace quern::sqs
