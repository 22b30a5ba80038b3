#include <quern/sqs/detail/decode.hpp>

#include <quern/sqs/detail/json_reader.hpp>
#include <quern/sqs/detail/members.hpp>
#include <quern/sqs/limits.hpp>
#include <quern/sqs/message.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <tuple>
#include <type_traits>

namespace quern::sqs::detail {

struct decoder::parser {
    simdjson::ondemand::parser json;
    std::shared_ptr<std::byte[]> arena; ///< for the next answer
    std::size_t size = 0;
};

namespace {

using detail::json_reader;
using od_value = simdjson::ondemand::value;
using simdjson::error_code;
using simdjson::SUCCESS;

/// Buffers of a parser that has seen an answer larger than this are given back: they are about six times its size.
constexpr std::size_t kept_capacity = 1024 * 1024;

template <class T>
error_code read(json_reader& in, od_value v, T& out)
{
    return in.read(v, out);
}
template <class T>
    requires std::is_class_v<T> error_code read(json_reader&, od_value, std::vector<T>&);
error_code read(json_reader& in, od_value v, std::vector<std::string>& out)
{
    return in.read(v, out);
}
error_code read(json_reader&, od_value, std::vector<system_attribute>&);
error_code read(json_reader&, od_value, std::vector<message_attribute>&);

/// Reads one member of what an answer is made of; unknown ones are ignored.
template <class T>
error_code member(json_reader& in, std::string_view name, od_value v, T& out)
{
    error_code e = SUCCESS;
    auto const is_it = [&](auto const& one) {
        if (one.name != name) return false;
        e = read(in, v, one.value);
        return true;
    };
    detail::members(out, [&](auto const&... each) { std::ignore = (is_it(each) || ...); });
    return e;
}

error_code member(json_reader& in, std::string_view name, od_value v, queue_urls_response& out)
{
    // ListDeadLetterSourceQueues begins the name with a small letter, ListQueues does not.
    return member<queue_urls_response>(in, name == "queueUrls" ? "QueueUrls" : name, v, out);
}

/// Looks for the members that must be there in the end.
template <class T>
error_code end(json_reader& in, T& out)
{
    error_code e = SUCCESS;
    auto const look_at = [&](auto const& one) {
        if constexpr (requires { one.value.empty(); })
            if (!e && one.required && one.value.empty()) e = in.missing(one.name);
    };
    detail::members(out, [&](auto const&... each) { (look_at(each), ...); });
    return e;
}

// ReceiveMessage

error_code read(json_reader& in, od_value v, message_attribute& out)
{
    std::string_view text, bytes;
    auto const e = in.members(v, [&](std::string_view name, od_value part) {
        if (name == "DataType") return in.read(part, out.data_type);
        if (name == "StringValue") return in.read(part, text);
        if (name == "BinaryValue") return in.read_base64(part, bytes);
        return SUCCESS;
    });
    if (e) return e;
    out.value = out.is_binary() ? bytes : text;
    return out.data_type.empty() ? in.missing("DataType") : SUCCESS;
}

/// The service's own name for it, which need not be kept for each message; empty when it has none.
std::string_view known_name(std::string_view name)
{
    static constexpr std::array<std::string_view, 9> known = {"SenderId", "SentTimestamp", "ApproximateReceiveCount",
        "ApproximateFirstReceiveTimestamp", "SequenceNumber", "MessageDeduplicationId", "MessageGroupId",
        "AWSTraceHeader", "DeadLetterQueueSourceArn"}; // SQS API reference, ReceiveMessage
    auto const at = std::ranges::find(known, name);
    return at == known.end() ? std::string_view() : *at;
}

error_code read(json_reader& in, od_value v, std::vector<system_attribute>& out)
{
    out.reserve(4); // two, or four of a FIFO queue, unless somebody asks for more
    return in.members(v, [&](std::string_view key, od_value part) {
        auto const known = known_name(key);
        auto& made = out.emplace_back(system_attribute{known.empty() ? key : known, {}});
        return in.read(part, made.value);
    });
}

error_code read(json_reader& in, od_value v, std::vector<message_attribute>& out)
{
    return in.members(v, [&](std::string_view key, od_value part) {
        return read(in, part, out.emplace_back(message_attribute{key, {}, {}}));
    });
}

/// One element of Messages. A fault inside it is noted and the rest is read on.
error_code read(json_reader& in, od_value v, receive_message_response& out)
{
    std::size_t const position = out.messages.size() + out.damaged.size();
    message m;
    std::optional<failure> why;
    auto const note = [&](error_code e) {
        if (!e || !json_reader::is_local(e)) return e;
        auto noted = in.problem(in.under("Messages[" + std::to_string(position) + ']', e));
        if (!why) why = std::move(noted);
        in.where.clear();
        return SUCCESS;
    };
    auto e = note(in.members(v, [&](std::string_view name, od_value part) {
        auto const fault = member(in, name, part, m);
        return fault ? note(in.under(name, fault)) : SUCCESS;
    }));
    if (!e) e = note(end(in, m));
    if (e) return e;
    if (why) {
        out.damaged.push_back({position, std::move(m), std::move(*why)});
    } else {
        out.messages.push_back(std::move(m));
    }
    return SUCCESS;
}

error_code member(json_reader& in, std::string_view name, od_value v, receive_message_response& out)
{
    if (name != "Messages") return SUCCESS;
    out.messages.reserve(max_batch_messages);
    return in.elements(v, [&](od_value element) {
        // Refused at the first one too many: millions of empty ones fit into an answer.
        bool const full = out.messages.size() + out.damaged.size() == max_batch_messages;
        return full ? simdjson::INDEX_OUT_OF_BOUNDS : read(in, element, out);
    });
}

template <class Visit>
void each_view(message& m, Visit visit)
{
    for (auto* const view : {&m.id, &m.receipt_handle, &m.body, &m.md5_of_body, &m.md5_of_attributes})
        visit(*view);
    for (auto& a : m.system_attributes) {
        visit(a.name);
        visit(a.value);
    }
    for (auto& a : m.attributes) {
        visit(a.name);
        visit(a.data_type);
        visit(a.value);
    }
}

template <class Visit>
void each_view(receive_message_response& all, Visit visit)
{
    for (auto& m : all.messages)
        each_view(m, visit);
    for (auto& m : all.damaged)
        each_view(m.known, visit);
}

/// Copies the messages to a block of their size, where that is worth it: as long as the last of them is worked on,
/// all that the answer held besides stays, too.
void pack(receive_message_response& out, std::size_t had)
{
    auto const* const begin = reinterpret_cast<char const*>(out.storage.get());
    auto const is_there = [=](std::string_view part) { // names of system attributes may be ours
        return !std::less()(part.data(), begin) && std::less()(part.data(), begin + had);
    };
    std::size_t needed = 0;
    each_view(out, [&](std::string_view const& part) { needed += is_there(part) ? part.size() : 0; });
    if (needed > had - had / 8) return;
    auto packed = std::make_shared_for_overwrite<std::byte[]>(needed);
    auto* next = reinterpret_cast<char*>(packed.get());
    each_view(out, [&](std::string_view& part) {
        if (!is_there(part)) return;
        part = {next, part.copy(next, part.size())};
        next += part.size();
    });
    out.storage = std::move(packed);
}

error_code end(json_reader& in, receive_message_response& out)
{
    if (out.messages.empty() && out.damaged.empty()) return SUCCESS;
    out.storage = in.storage;
    pack(out, in.room);
    return SUCCESS;
}

template <class T>
    requires std::is_class_v<T> error_code read(json_reader& in, od_value v, std::vector<T>& out)
    {
        return in.elements(v, [&](od_value element) {
            T& entry = out.emplace_back();
            auto const each = [&](std::string_view name, od_value part) { return member(in, name, part, entry); };
            if (auto const e = in.members(element, each)) return e;
            return end(in, entry);
        });
    }

template <class Response>
error_code read_answer(simdjson::ondemand::parser& parser, std::string const& body, json_reader& in, Response& out)
{
    simdjson::ondemand::document doc;
    auto const begun = parser.iterate(body.data(), body.size(), body.capacity()).get(doc);
    if (begun == simdjson::EMPTY) return end(in, out);
    if (begun) return begun;

    simdjson::ondemand::object all;
    if (auto const e = doc.get_object().get(all)) return e;
    auto const each = [&](std::string_view name, od_value v) { return member(in, name, v, out); };
    if (auto const e = in.members_of(all, each)) return e;
    bool const at_end = doc.current_location().error() == simdjson::OUT_OF_BOUNDS;
    return at_end ? end(in, out) : simdjson::TRAILING_CONTENT;
}

} // namespace

decoder::decoder() : parser_(std::make_unique<parser>()) {}
decoder::~decoder() = default;

template <class Response>
result<Response> decoder::read(std::string& body)
{
    auto const room = body.size() + simdjson::SIMDJSON_PADDING;
    body.reserve(room);
    auto& [json, arena, size] = *parser_;
    if (size < room) {
        arena = std::make_shared_for_overwrite<std::byte[]>(room);
        size = room;
    }
    json_reader in(json, arena, size);
    Response out;
    auto const e = read_answer(json, body, in, out);
    if (json.capacity() > kept_capacity) json = simdjson::ondemand::parser();
    in.storage.reset();
    if (arena.use_count() > 1 || size > kept_capacity) { // messages have it now
        arena.reset();
        size = 0;
    }
    if (e) return in.problem(e);
    return out;
}

template result<send_message_response> decoder::read(std::string&);
template result<send_message_batch_response> decoder::read(std::string&);
template result<receive_message_response> decoder::read(std::string&);
template result<empty_response> decoder::read(std::string&);
template result<delete_message_batch_response> decoder::read(std::string&);
template result<queue_url_response> decoder::read(std::string&);
template result<queue_urls_response> decoder::read(std::string&);
template result<attributes_response> decoder::read(std::string&);
template result<tags_response> decoder::read(std::string&);
template result<task_handle_response> decoder::read(std::string&);
template result<moved_response> decoder::read(std::string&);
template result<list_message_move_tasks_response> decoder::read(std::string&);

} // namespace quern::sqs::detail
