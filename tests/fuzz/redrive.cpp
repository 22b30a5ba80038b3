#include "target.hpp"

#include <quern/redrive/event.hpp>
#include <quern/redrive/filter.hpp>
#include <quern/redrive/plan.hpp>
#include <quern/redrive/saved.hpp>
#include <quern/sqs/limits.hpp>

#include <boost/crc.hpp>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>

namespace quern::fuzz {
namespace {

/// The line with the checksum that belongs to it.
std::string sealed(std::string_view line)
{
    boost::crc_32_type crc;
    crc.process_bytes(line.data(), line.size());
    char hex[9];
    std::snprintf(hex, sizeof hex, "%08x", crc.checksum());
    return std::string(line) + R"(,"crc":")" + hex + "\"}";
}

} // namespace

/// Lines of a journal, each without its checksum, which it is given; but one that begins with '!' stays as it is.
void journal(std::string_view bytes)
{
    using namespace quern::redrive;
    std::string text;
    while (!bytes.empty()) {
        auto const end = bytes.find('\n');
        auto const line = bytes.substr(0, end);
        text += line.starts_with('!') ? std::string(line.substr(1)) : sealed(line);
        if (end == bytes.npos) break;
        text += '\n';
        bytes.remove_prefix(end + 1);
    }

    std::string written, again;
    auto const whole = read_events(text, [&](event&& e) -> result<void> {
        auto const line = to_line(e);
        auto const read = parse_event(std::string_view(line).substr(0, line.size() - 1));
        must(read.has_value(), "what is written can be read");
        must(to_line(*read) == line, "and is the same");
        written += line;
        return {};
    });
    must(!whole || whole->whole + whole->torn == text.size(), "a journal is its lines and what is torn");
    must(!whole || whole->whole != 0 || written.empty(), "an event is a whole line");

    event_reader by_half([&](event&& e) -> result<void> {
        again += to_line(e);
        return {};
    });
    auto const half = text.size() / 2;
    auto const first = by_half.read(std::string_view(text).substr(0, half));
    auto const second = first ? by_half.read(std::string_view(text).substr(half)) : first;
    auto const end = second ? by_half.end() : result<journal_extent>(second.error());
    must(end.has_value() == whole.has_value() && again == written, "pieces are read as the whole is");
    if (end) must(end->whole == whole->whole && end->torn == whole->torn, "and as far");
}

/// A line of `quern redrive --save`, of whoever wrote it.
void saved_message(std::string_view bytes)
{
    auto const as_it_was = quern::redrive::parse_saved(bytes, false);
    auto const to_fifo = quern::redrive::parse_saved(bytes, true);
    must(as_it_was.has_value() == to_fifo.has_value(), "what is a message does not depend on the queue");
    if (!as_it_was) return;
    must(!as_it_was->id.empty() && to_fifo->copy.deduplication_id == to_fifo->id, "on a FIFO queue its id is unique");
    must(to_fifo->copy.group_id.has_value(), "and it has a group");

    sqs::message m;
    m.id = as_it_was->id;
    m.body = as_it_was->copy.body;
    for (auto const& [name, value] : as_it_was->copy.attributes)
        m.attributes.push_back({name, value.data_type, value.value});
    auto const line = quern::redrive::saved_line(m);
    auto const again = quern::redrive::parse_saved(std::string_view(line).substr(0, line.size() - 1), false);
    must(again && again->id == m.id && again->copy.body == m.body &&
            again->copy.attributes == as_it_was->copy.attributes,
        "what is saved is the message");
}

/// The first line is x-redrive-attempt, the second a condition, the rest the body.
void redrive(std::string_view bytes)
{
    using namespace quern::redrive;
    auto const take_line = [&] {
        auto const line = bytes.substr(0, bytes.find('\n'));
        bytes.remove_prefix(std::min(line.size() + 1, bytes.size()));
        return line;
    };
    auto const attempt = take_line(), condition = take_line();
    sqs::message m;
    m.id = "id";
    m.body = bytes;
    m.attributes = {{"x-redrive-attempt", "String", attempt}, {"own", "Binary", bytes}};
    m.system_attributes = {{"SentTimestamp", attempt}, {"ApproximateFirstReceiveTimestamp", "1700000000000"}};

    std::mt19937_64 random(1);
    route const way{"dead", "orders", "poison"};
    auto const p = plan_for(m, way, plan_policy(), random);
    must(p.what != action::skip, "without a cutoff a message is sent or isolated");
    must(p.copy.body == m.body, "a copy has the body of the message");
    must(p.copy.attributes.at("own").value == bytes, "a copy has the attributes of the message");
    if (p.what == action::send) {
        must(p.attempt == history_of(m).attempts + 1, "an attempt is one more than the last");
        must(p.attempt <= plan_policy().max_attempts, "attempts have an end");
        must(sqs::message_size(p.copy.body, p.copy.attributes) <= sqs::max_message_bytes,
            "a copy fits into a message");
    }

    for (auto const& read : {parse_where, parse_where_body}) {
        auto const one = read(condition);
        if (!one) {
            must(!one.error().message.empty(), "what makes no sense is told why");
            continue;
        }
        auto const equal = one->holds(m);
        auto const at = condition.find('=');
        auto const other = read(std::string(condition.substr(0, at)) + '!' + std::string(condition.substr(at)));
        if (!other) continue; // it is != already, or ==
        auto const differs = other->holds(m);
        must((equal == match::unreadable) == (differs == match::unreadable), "what is unreadable is so for both");
        must(equal == match::unreadable || equal != differs, "of = and != one is true");
    }
    (void)parse_moment(condition, wall_time());
}

} // namespace quern::fuzz
