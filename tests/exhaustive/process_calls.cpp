// The calls of a process, and how they end.

#include "process.hpp"

#include <charconv>
#include <utility>

namespace quern::test {

namespace {

std::string handle_of(int message, int receive)
{
    return std::to_string(message) + '/' + std::to_string(receive);
}

void read_handle(std::string_view handle, int& message, int& receive)
{
    message = handle.front() - '0';
    std::from_chars(handle.data() + 2, handle.data() + handle.size(), receive);
}

std::string letter(int message)
{
    return std::string(1, static_cast<char>('a' + message));
}

int message_in(std::string_view id)
{
    return id.front() - 'a';
}

failure lost()
{
    return failure(errc::connection_lost, "the connection is lost", true);
}

} // namespace

sqs::answer<sqs::receive_message_response> process::carry(sqs::receive_message_request request)
{
    receive_ends_at_ = surroundings_.now + *request.wait_time;
    lease_ = *request.visibility_timeout;
    if (has_ended()) surroundings_.breaks("receives after its end");
    auto begin = [this](detail::asker<arrival> who) { receive_ = std::move(who); };
    auto wait = detail::ask<arrival>(std::move(begin));
    auto got = co_await std::move(wait);
    receive_ = {};
    if (got.failed) co_return *got.failed;
    sqs::receive_message_response out;
    for (auto const which : got.messages) {
        auto const& m = surroundings_.queue.messages[static_cast<std::size_t>(which)];
        sqs::message one;
        one.id = texts_.emplace_back(letter(which));
        one.body = texts_.emplace_back(letter(which));
        one.receipt_handle = texts_.emplace_back(handle_of(which, m.receives));
        one.system_attributes.push_back({"ApproximateReceiveCount", texts_.emplace_back(std::to_string(m.receives))});
        out.messages.push_back(std::move(one));
    }
    co_return out;
}

sqs::answer<process::reply> process::answer_to(call what)
{
    if (has_ended()) surroundings_.breaks("calls after its end");
    what.sent_at = surroundings_.now;
    if (surroundings_.story) surroundings_.tell(number_, "sends " + text_of(what));
    note_sent(what);
    auto begin = [this, what = std::move(what)](detail::asker<reply> who) mutable {
        what.tell = std::move(who);
        calls_.push_back(std::move(what));
        ++surroundings_.happened;
    };
    auto wait = detail::ask<reply>(std::move(begin));
    auto got = co_await std::move(wait);
    co_return got;
}

template <class Response>
Response process::response_of(std::vector<std::string> const& codes)
{
    Response out;
    for (std::size_t i = 0; i < codes.size(); ++i) {
        if (codes[i].empty())
            out.successful.emplace_back().id = std::to_string(i);
        else
            out.failed.push_back({std::to_string(i), codes[i], "", false});
    }
    return out;
}

sqs::answer<sqs::delete_message_batch_response> process::carry(sqs::delete_message_batch_request request)
{
    call what;
    for (auto const& e : request.entries) {
        auto& to = what.entries.emplace_back();
        read_handle(e.receipt_handle, to.message, to.receive);
    }
    auto wait = answer_to(std::move(what));
    auto const got = co_await std::move(wait);
    if (got->failed) co_return *got->failed;
    co_return response_of<sqs::delete_message_batch_response>(got->codes);
}

sqs::answer<sqs::change_message_visibility_batch_response> process::carry(
    sqs::change_message_visibility_batch_request request)
{
    call what;
    what.what = call::kind::change;
    for (auto const& e : request.entries) {
        auto& to = what.entries.emplace_back();
        read_handle(e.receipt_handle, to.message, to.receive);
        to.timeout = e.visibility_timeout;
    }
    auto wait = answer_to(std::move(what));
    auto const got = co_await std::move(wait);
    if (got->failed) co_return *got->failed;
    co_return response_of<sqs::change_message_visibility_batch_response>(got->codes);
}

sqs::answer<sqs::send_message_batch_response> process::carry(sqs::send_message_batch_request request)
{
    call what;
    what.what = call::kind::copy;
    for (auto const& e : request.entries)
        what.entries.emplace_back().message = message_in(e.body);
    auto wait = answer_to(std::move(what));
    auto const got = co_await std::move(wait);
    if (got->failed) co_return *got->failed;
    co_return response_of<sqs::send_message_batch_response>(got->codes);
}

void process::carry_out(call& c)
{
    if (std::exchange(c.carried_out, true)) return;
    auto& queue = surroundings_.queue;
    for (auto& e : c.entries) {
        if (!e.code.empty()) continue; // it fails
        auto const at = static_cast<std::size_t>(e.message);
        switch (c.what) {
        case call::kind::remove:
            e.code = queue.remove(at, e.receive);
            deletions_ += e.code.empty();
            break;
        case call::kind::copy:
            ++queue.messages[at].copies;
            wards_[at].may_delete = true;
            break;
        case call::kind::change:
            e.code = queue.change(at, e.receive, surroundings_.now, e.timeout);
            if (e.code.empty() && e.postpones) wards_[at].put_off_until = surroundings_.now + e.timeout;
            break;
        }
    }
    ++surroundings_.happened;
}

std::string process::text_of(call const& c)
{
    std::string out = c.what == call::kind::remove ? "deletes" : c.what == call::kind::copy ? "copies" : "changes";
    for (auto const& e : c.entries) {
        out += " of " + letter(e.message) + ", receive " + std::to_string(e.receive);
        if (c.what == call::kind::change) out += ", for " + std::to_string(e.timeout.count()) + " s";
    }
    return out;
}

process::call process::take_call(std::size_t which)
{
    auto out = std::move(calls_[which]);
    calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(which));
    return out;
}

void process::end_call(event const& e)
{
    auto c = take_call(e.which);
    reply said;
    if (e.what == event::entry_fails) c.entries[e.entry].code = "InternalError";
    if (e.what == event::request_lost || e.what == event::answer_lost) said.failed = lost();
    if (e.what == event::refused) said.failed = failure(errc::service_error, "for good");
    if (e.what != event::request_lost && e.what != event::refused) carry_out(c);
    for (auto const& one : c.entries) {
        auto const fails = said.failed || one.code == "InternalError"; // else it is no longer ours
        if (c.what == call::kind::change && fails)
            wards_[static_cast<std::size_t>(one.message)].extension_failed = true;
        said.codes.push_back(one.code);
    }
    c.tell.tell(std::move(said));
}

void process::bring(event const& e)
{
    auto& queue = surroundings_.queue;
    arrival got;
    if (e.what != event::poll_ends) {
        auto& its = wards_[e.which];
        queue.receive(e.which, number_, surroundings_.now, lease_);
        if (e.what == event::receive_lost)
            its.unheard = true;
        else
            its = {its.may_delete, false, its.lost_in_run};
        got.messages.push_back(e.which);
    }
    if (e.what == event::receive_lost) got.failed = lost();
    std::exchange(receive_, {}).tell(std::move(got));
}

} // namespace quern::test
