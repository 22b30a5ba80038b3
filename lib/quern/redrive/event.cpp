#include <quern/redrive/event.hpp>

#include <quern/core/detail/printable.hpp>
#include <quern/core/detail/text/date.hpp>
#include <quern/core/detail/text/json_writer.hpp>
#include <quern/core/simdjson.hpp>
#include <quern/sqs/detail/copy.hpp>

#include <boost/crc.hpp>

#include <array>
#include <concepts>
#include <cstdio>
#include <optional>
#include <utility>

namespace quern::redrive {

using namespace quern::detail;

namespace {

namespace dom = simdjson::dom;

struct kind_name {
    event_kind kind;
    std::string_view type, details;
};
constexpr std::array kinds{
    kind_name{event_kind::started, "ExecutionStarted", "executionStartedEventDetails"},
    kind_name{event_kind::resumed, "ExecutionRedriven", "executionRedrivenEventDetails"},
    kind_name{event_kind::planned, "ChoiceStateExited", "stateExitedEventDetails"},
    kind_name{event_kind::waiting, "WaitStateEntered", "stateEnteredEventDetails"},
    kind_name{event_kind::sending, "TaskScheduled", "taskScheduledEventDetails"},
    kind_name{event_kind::sent, "TaskSucceeded", "taskSucceededEventDetails"},
    kind_name{event_kind::send_failed, "TaskFailed", "taskFailedEventDetails"},
    kind_name{event_kind::deleted, "MapIterationSucceeded", "mapIterationSucceededEventDetails"},
    kind_name{event_kind::left, "MapIterationFailed", "mapIterationFailedEventDetails"},
    kind_name{event_kind::succeeded, "ExecutionSucceeded", "executionSucceededEventDetails"},
    kind_name{event_kind::stopped, "ExecutionFailed", "executionFailedEventDetails"},
    kind_name{event_kind::cancelled, "ExecutionAborted", "executionAbortedEventDetails"},
};

constexpr std::string_view crc_key = R"(,"crc":")";
constexpr std::size_t crc_size = 8;

std::string checksum(std::string_view text)
{
    boost::crc_32_type crc;
    crc.process_bytes(text.data(), text.size());
    std::array<char, crc_size + 1> out{};
    std::snprintf(out.data(), out.size(), "%08x", crc.checksum());
    return std::string(out.data(), crc_size);
}

/// With milliseconds, which parse_rfc3339() drops.
std::optional<wall_time> moment(std::string_view text)
{
    auto const at = text::parse_rfc3339(text);
    if (!at || text.size() != 24 || text[19] != '.') return {};
    int ms = 0;
    for (auto const digit : text.substr(20, 3)) {
        if (digit < '0' || digit > '9') return {};
        ms = ms * 10 + (digit - '0');
    }
    return *at + std::chrono::milliseconds(ms);
}

/// Shows what an event says besides what every line does, in the order of a line.
void each_detail(auto& e, auto const& with)
{
    with("version", e.version);
    with("queue", e.queue);
    with("input", e.input);
    with("decision", e.decision);
    with("attempt", e.attempt);
    with("cause", e.reason);
    with("deduplicationId", e.key);
    with("possibleDuplicate", e.maybe_twice);
    with("inDoubt", e.in_doubt);
    with("due", e.due);
    with("hiddenUntil", e.hidden_until);
    with("receiptHandle", e.handle);
    with("messageId", e.new_id);
    with("sequenceNumber", e.sequence);
}

struct writer {
    text::json_writer& to;

    void operator()(std::string_view name, std::string const& text) const
    {
        if (!text.empty()) to.member(name, name == "cause" ? printable(text) : text);
    }
    void operator()(std::string_view name, wall_time at) const
    {
        if (at != wall_time()) to.member(name, sqs::detail::rfc3339_ms(at));
    }
    void operator()(std::string_view name, auto value) const // a number or a truth
    {
        if (value) to.member(name, value);
    }
};

struct reader {
    dom::object of;
    bool good = true;

    bool read(std::string_view name, std::string& to)
    {
        std::string_view text;
        auto const found = of[name].get(text);
        if (found == simdjson::SUCCESS) to = text;
        good = good && (found == simdjson::SUCCESS || found == simdjson::NO_SUCH_FIELD);
        return found == simdjson::SUCCESS;
    }
    void read(std::string_view name, wall_time& to)
    {
        std::string text;
        if (!read(name, text)) return;
        auto const at = moment(text);
        good = good && at.has_value();
        to = at.value_or(wall_time());
    }
    template <std::integral Integer>
    void read(std::string_view name, Integer& to)
    {
        std::int64_t number = 0;
        auto const found = of[name].get(number);
        auto const fits = std::in_range<Integer>(number);
        if (found == simdjson::SUCCESS && fits) to = static_cast<Integer>(number);
        good = good && (found == simdjson::SUCCESS ? fits : found == simdjson::NO_SUCH_FIELD);
    }
    void read(std::string_view name, bool& to)
    {
        auto const found = of[name].get(to);
        good = good && (found == simdjson::SUCCESS || found == simdjson::NO_SUCH_FIELD);
    }
};

} // namespace

std::string_view name_of(event_kind kind)
{
    return kinds[static_cast<std::size_t>(kind)].type;
}

std::string to_line(event const& e)
{
    std::string text;
    text::json_writer to(text);
    to.begin_object();
    to.member("id", static_cast<std::int64_t>(e.id));
    to.member("previousEventId", static_cast<std::int64_t>(e.previous));
    to.member("timestamp", sqs::detail::rfc3339_ms(e.at));
    to.member("type", name_of(e.kind));
    writer const say{to};
    say("message", e.message);
    to.key(kinds[static_cast<std::size_t>(e.kind)].details).begin_object();
    each_detail(e, say);
    to.end_object();
    text += crc_key;
    text += checksum(std::string_view(text).substr(0, text.size() - crc_key.size()));
    text += "\"}\n";
    return text;
}

result<event> parse_event(std::string_view line)
{
    constexpr auto rest = crc_key.size() + crc_size + 2;
    failure const torn(errc::bad_reply, "the line is not whole");
    if (line.size() < rest || !line.ends_with("\"}")) return torn;
    auto const text = line.substr(0, line.size() - rest);
    auto const tail = line.substr(text.size());
    if (!tail.starts_with(crc_key) || tail.substr(crc_key.size(), crc_size) != checksum(text)) return torn;

    dom::parser parser;
    reader from;
    simdjson::padded_string const padded(line);
    failure const odd(errc::invalid_option, "the line is whole, and no event");
    if (parser.parse(padded).get(from.of) != simdjson::SUCCESS) return odd;
    event out;
    std::string type;
    from.read("type", type);
    kind_name const* known = nullptr;
    for (auto const& one : kinds)
        if (one.type == type) known = &one;
    if (!known) return failure(errc::invalid_option, "\"" + printable(type) + "\" is no event that is known here");
    out.kind = known->kind;
    from.read("id", out.id);
    from.read("previousEventId", out.previous);
    from.read("timestamp", out.at);
    from.read("message", out.message);
    dom::object details;
    if (!from.good || from.of[known->details].get(details) != simdjson::SUCCESS) return odd;
    from.of = details;
    each_detail(out, [&from](std::string_view name, auto& member) { from.read(name, member); });
    if (!from.good) return odd;
    if (out.kind == event_kind::started && out.version != event::current_version)
        return failure(errc::invalid_option,
            "the journal is of version " + std::to_string(out.version) + "; known here is version " +
                std::to_string(event::current_version));
    return out;
}

std::optional<failure> shorter_than(std::size_t least, std::size_t whole)
{
    if (whole >= least) return {};
    return failure(errc::bad_reply,
        "its end is missing or damaged: " + std::to_string(whole) + " bytes are whole, and it had " +
            std::to_string(least));
}

result<void> event_reader::read(std::string_view piece)
{
    for (;;) {
        auto const end = piece.find('\n');
        begun_ += piece.substr(0, end);
        if (end == piece.npos) return {};
        piece.remove_prefix(end + 1);
        auto const line = std::exchange(begun_, {});
        auto const done = read_line(line);
        if (!done) return done.error();
    }
}

result<void> event_reader::read_line(std::string_view line)
{
    ++lines_;
    read_ += line.size() + 1;
    auto got = parse_event(line);
    auto const place = "line " + std::to_string(lines_) + ": ";
    if (!got && got.error().code == errc::bad_reply) {
        if (!bad_line_) bad_line_ = lines_;
        return {};
    }
    if (bad_line_)
        return failure(errc::bad_reply,
            "line " + std::to_string(*bad_line_) + " is damaged, and whole ones follow: nothing was cut");
    if (!got) return failure(errc::invalid_option, place + got.error().message);
    auto const taken = take_(std::move(*got));
    if (!taken) return failure(errc::invalid_option, place + taken.error().message);
    found_.whole = read_;
    return {};
}

result<journal_extent> event_reader::end()
{
    found_.torn = read_ + begun_.size() - found_.whole;
    if (found_.whole == 0 && lines_ != 0)
        return failure(errc::bad_reply, "line 1 is damaged, and none is whole: it is no journal, and was not cut");
    return found_;
}

result<journal_extent> read_events(std::string_view text, std::function<result<void>(event&&)> const& take)
{
    event_reader reader(take);
    auto const read = reader.read(text);
    if (!read) return read.error();
    return reader.end();
}

} // namespace quern::redrive
