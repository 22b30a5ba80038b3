#include <quern/consumer/detail/settle/poison_copy.hpp>
#include <quern/sqs/batch.hpp>
#include <quern/sqs/limits.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <iterator>
#include <utility>

namespace quern::detail {

namespace {

constexpr std::size_t most_attributes = 10;

std::string rfc3339(wall_time at)
{
    auto const ms = std::chrono::floor<std::chrono::milliseconds>(at.time_since_epoch()).count();
    auto const seconds = static_cast<std::time_t>(ms / 1000);
    std::tm utc{};
    ::gmtime_r(&seconds, &utc);
    char text[40];
    auto const end = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    std::snprintf(text + end, sizeof text - end, ".%03dZ", static_cast<int>(ms % 1000));
    return text;
}

void add_if_it_fits(sqs::send_message_entry& copy, std::string name, sqs::attribute_value value, bool replace)
{
    if (value.value.empty()) return;
    auto const old = copy.attributes.find(name);
    if (old != copy.attributes.end() && !replace) return;
    if (old == copy.attributes.end() && copy.attributes.size() >= most_attributes) return;
    auto const before = old == copy.attributes.end() ? std::optional<sqs::attribute_value>() : old->second;
    auto const at = copy.attributes.insert_or_assign(std::move(name), std::move(value)).first;
    if (sqs::message_size(copy.body, copy.attributes) <= sqs::max_message_bytes) return;
    if (before)
        at->second = *before;
    else
        copy.attributes.erase(at);
}

} // namespace

poison_copies::poison_copies(std::string_view queue_url, std::string_view poison_queue_url)
    : source_(queue_url.substr(queue_url.rfind('/') + 1)), fifo_(poison_queue_url.ends_with(".fifo"))
{}

void poison_copies::add(held const& h)
{
    auto const& m = h.message.message();
    auto& copy = copies_.emplace_back(std::string(m.body));
    for (auto const& a : m.attributes)
        copy.attributes.try_emplace(
            std::string(a.name), sqs::attribute_value{std::string(a.data_type), std::string(a.value)});
    add_if_it_fits(copy, "QuernReason", {"String", h.rare ? h.rare->reason : std::string()}, true);
    add_if_it_fits(copy, "QuernOriginalId", {"String", std::string(m.id)}, false);
    add_if_it_fits(copy, "QuernSource", {"String", source_}, true);
    add_if_it_fits(copy, "QuernReceiveCount", {"Number", std::to_string(h.receive_count)}, true);
    if (auto const first = h.message.first_received_at())
        add_if_it_fits(copy, "x-original-first-receive-timestamp", {"String", rfc3339(*first)}, false);
    if (auto const trace = m.system("AWSTraceHeader"); !trace.empty())
        copy.system_attributes.try_emplace("AWSTraceHeader", sqs::attribute_value{"String", std::string(trace)});
    if (!fifo_) return;
    copy.group_id = h.message.group().empty() ? "rejected" : std::string(h.message.group());
    copy.deduplication_id = std::string(m.id);
}

std::vector<std::vector<sqs::send_message_entry>> poison_copies::take()
{
    std::vector<std::size_t> sizes;
    for (auto const& copy : copies_)
        sizes.push_back(sqs::message_size(copy.body, copy.attributes));
    std::vector<std::vector<sqs::send_message_entry>> out;
    auto copy = std::make_move_iterator(copies_.begin());
    for (auto const count : sqs::split(sizes)) {
        auto const end = copy + static_cast<std::ptrdiff_t>(count);
        out.emplace_back(copy, end);
        copy = end;
    }
    return out;
}

} // namespace quern::detail
