#include <quern/sim/detail/earlier_life.hpp>

#include <cstdlib>
#include <string_view>

namespace quern::sim::detail {

namespace {

// The names are those that docs/guide/dead-letters.md promises; spelled out here, so that a change of them shows.
constexpr std::string_view reason = "QuernReason", original_id = "QuernOriginalId", source = "QuernSource",
                           receive_count = "QuernReceiveCount", header = "AWSTraceHeader";

std::string text_of(sqs::attribute_map const& in, std::string_view name)
{
    auto const at = in.find(std::string(name));
    return at == in.end() ? std::string() : at->second.value;
}

} // namespace

sqs::attribute_map earlier_life(int number)
{
    return {{std::string(reason), {"String", "a reason of an earlier life"}},
        {std::string(original_id), {"String", "id " + std::to_string(number) + " of an earlier life"}},
        {std::string(source), {"String", "a queue of an earlier life"}},
        {std::string(receive_count), {"Number", "77"}}};
}

sqs::attribute_map trace_header()
{
    return {{std::string(header), {"String", "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1"}}};
}

std::string untold_by(sqs::send_message_entry const& copy, rejected_message const& of)
{
    auto const before = earlier_life(of.number);
    auto const id = of.came_back ? text_of(before, original_id) : of.id;
    auto const why = text_of(copy.attributes, reason);
    if (why.empty() == of.explained || why == text_of(before, reason)) return "why it was rejected";
    if (text_of(copy.attributes, original_id) != id) return "its original id";
    if (text_of(copy.attributes, source) != of.queue_url.substr(of.queue_url.rfind('/') + 1))
        return "the queue that it comes from";
    auto const receives = std::atoi(text_of(copy.attributes, receive_count).c_str());
    if (receives < of.from || receives > of.to) return "how often it was received";
    if (text_of(copy.system_attributes, header) != text_of(trace_header(), header)) return "its trace header";
    return {};
}

} // namespace quern::sim::detail
