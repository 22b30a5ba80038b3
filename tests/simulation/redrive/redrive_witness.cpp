#include "simulation/redrive/redrive_witness.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace quern::sim {
namespace {

constexpr std::string_view attempt_mark = "x-redrive-attempt";

int number_in(std::string_view text)
{
    int out = 0;
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
}

int attempts_of(sqs::message const& m)
{
    auto const* const mark = m.attribute(attempt_mark);
    return mark ? number_in(mark->value) : 0;
}

} // namespace

void redrive_witness::begin(
    rules r, std::string dead_url, std::string poison_url, std::vector<std::string> source_urls)
{
    rules_ = r;
    dead_url_ = std::move(dead_url);
    poison_url_ = std::move(poison_url);
    source_urls_ = std::move(source_urls);
}

std::string redrive_witness::body_of(fate its, std::size_t source, int number)
{
    return std::string(1, static_cast<char>(its)) + std::to_string(source) + '-' + std::to_string(number);
}

void redrive_witness::complain(std::string what)
{
    if (tell) tell(what);
    violations.push_back(std::move(what));
}

void redrive_witness::received(sqs::receive_message_request const& asked, sqs::receive_message_response const& got)
{
    if (asked.queue_url != dead_url_) return;
    for (auto const& m : got.messages) {
        std::string const id(m.id);
        handles_[std::string(m.receipt_handle)] = id;
        auto const [place, is_new] = dead_.try_emplace(id);
        if (!is_new) continue;
        place->second.is = {std::string(m.body), attempts_of(m)};
        place->second.group = m.group_id();
        tallies_.try_emplace(place->second.is);
        if (rules_.fifo) groups_[place->second.group].push_back(id);
    }
}

void redrive_witness::sent(sqs::send_message_batch_request const& asked, sqs::send_message_batch_response const& got)
{
    for (auto const& done : got.successful) {
        auto const at = std::ranges::find(asked.entries, done.id, &sqs::send_message_entry::id);
        if (at != asked.entries.end()) accepted(*at, asked.queue_url);
    }
}

void redrive_witness::accepted(sqs::send_message_entry const& copy, std::string const& url)
{
    auto const mark = copy.attributes.find(std::string(attempt_mark));
    auto const attempt = mark == copy.attributes.end() ? 0 : number_in(mark->second.value);
    bool const isolated = url == poison_url_;
    auto const source = static_cast<std::size_t>(number_in(std::string_view(copy.body).substr(1)));
    if (!isolated && (source >= source_urls_.size() || url != source_urls_[source]))
        complain("message " + copy.body + " is sent to a queue that is not its own, " + url);
    auto const of = tallies_.find({copy.body, isolated ? attempt : attempt - 1});
    if (of == tallies_.end())
        complain("message " + copy.body + " is sent as attempt " + std::to_string(attempt) +
            ", and none is dead that has one less");
    else
        ++of->second.copied;
    auto const key = copy.deduplication_id.value_or(std::string());
    if (rules_.fifo) judge_order(key.substr(0, key.find("-redrive-")));
}

void redrive_witness::judge_order(std::string const& sent)
{
    auto const its = dead_.find(sent);
    if (its == dead_.end()) return;
    for (auto const& id : groups_[its->second.group]) {
        if (id == sent) break;
        if (!copied_.contains(id))
            complain("message " + its->second.is.first + " is sent before " + dead_.at(id).is.first +
                ", which is ahead of it in its group");
    }
    copied_.insert(sent);
}

void redrive_witness::deleted(
    sqs::delete_message_batch_request const& asked, sqs::delete_message_batch_response const& got)
{
    if (asked.queue_url != dead_url_) return;
    for (auto const& done : got.successful) {
        auto const at = std::ranges::find(asked.entries, done.id, &sqs::delete_message_entry::id);
        if (at == asked.entries.end()) continue;
        auto const handle = handles_.find(at->receipt_handle);
        if (handle == handles_.end()) continue;
        auto const& its = dead_.at(handle->second).is;
        auto& alike = tallies_.at(its);
        alike.deleted.insert(handle->second);
        if (alike.deleted.size() > alike.copied)
            complain("message " + its.first + " is deleted, and no other queue has confirmed it");
    }
}

void redrive_witness::handled(std::string const& body, std::size_t by_source)
{
    ++handled_[body];
    if (static_cast<std::size_t>(number_in(std::string_view(body).substr(1))) != by_source)
        complain("message " + body + " is handled by the consumer of queue " + std::to_string(by_source));
}

void redrive_witness::poisoned(sqs::message const& m)
{
    ++poisoned_[std::string(m.body)];
    if (attempts_of(m) != rules_.max_attempts)
        complain("message " + std::string(m.body) + " is isolated after " + std::to_string(attempts_of(m)) +
            " attempts of " + std::to_string(rules_.max_attempts));
}

void redrive_witness::finish(bool is_empty, long marked)
{
    if (!is_empty) complain("the queues do not run empty");
    long twice = 0;
    for (auto const& body : born_) {
        auto const handled = handled_.contains(body) ? handled_[body] : 0;
        auto const poisoned = poisoned_.contains(body) ? poisoned_[body] : 0;
        if (handled + poisoned == 0 && is_empty) complain("message " + body + " is lost");
        twice += static_cast<long>(std::max<std::size_t>(handled + poisoned, 1) - 1);
        auto const its = fate_of(body);
        if (its == fate::never && handled != 0) complain("message " + body + " is handled, and cannot be");
        if ((its == fate::at_once || its == fate::once_redriven) && poisoned != 0)
            complain("message " + body + " is isolated, and was to be handled");
    }
    if (marked >= 0 && twice > marked)
        complain(
            std::to_string(twice) + " messages are there twice, and " + std::to_string(marked) + " were counted");
}

} // namespace quern::sim
