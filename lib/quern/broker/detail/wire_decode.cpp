#include <quern/broker/detail/wire_decode.hpp>

#include <quern/broker/detail/errors.hpp>
#include <quern/core/detail/text/base64.hpp>
#include <quern/core/simdjson.hpp>
#include <quern/sqs/detail/members.hpp>

#include <limits>

namespace quern::broker::detail {

using namespace quern::detail;
namespace ondemand = simdjson::ondemand;
static_assert(wire_decoder::padding >= simdjson::SIMDJSON_PADDING);

namespace {

using sqs::detail::may;
using sqs::detail::member;

std::string_view type_name(ondemand::value& value)
{
    ondemand::json_type type{};
    if (value.type().get(type)) return "nothing";
    switch (type) {
    case ondemand::json_type::array: return "an array";
    case ondemand::json_type::object: return "an object";
    case ondemand::json_type::number: return "a number";
    case ondemand::json_type::string: return "a string";
    case ondemand::json_type::boolean: return "a boolean";
    case ondemand::json_type::null: return "null";
    default: break; // simdjson 4 has one more
    }
    return "something else";
}

/// A member of which only its presence matters.
struct any_value {
    bool given = false;
};

/// The service's refusal of what its model has for later.
failure no_list_values(std::string_view operation)
{
    return fail(error::unsupported_operation,
        "Message attribute list values in " + std::string(operation) + " operation are not supported.");
}

/// Fills requests from JSON until the first problem.
class reader {
public:
    std::optional<failure> problem;
    bool has_list_values = false; ///< a message attribute with StringListValues or BinaryListValues, even empty

    template <class T>
    void read(ondemand::object in, T& to)
    {
        sqs::detail::members(to, [&](auto const&... each) { members(in, each...); });
    }
    void read(ondemand::object in, sqs::receive_message_request& to)
    {
        to.max_messages = 1; // the service's default; the client's own is ten
        // AttributeNames is the former name of MessageSystemAttributeNames: either or both may come.
        sqs::detail::members(
            to, [&](auto const&... each) { members(in, each..., may("AttributeNames", to.system_attribute_names)); });
    }
    void read(ondemand::object in, sqs::get_queue_attributes_request& to)
    {
        to.attribute_names.clear(); // none asked for, none returned; asking for all is the client's default
        read<sqs::get_queue_attributes_request>(in, to);
    }

    void refuse(std::string why) { problem = fail(error::serialization, std::move(why)); }
    void malformed() { refuse("The body of the request is not valid JSON."); }

private:
    template <class... T>
    void members(ondemand::object in, member<T>... wanted)
    {
        each(in, [&](std::string_view key, ondemand::value value) {
            auto const is_meant = [&](auto& one) {
                if (one.name != key) return false;
                one.required = false; // it is there
                name_ = one.name;
                value_of(value, one.value);
                return true;
            };
            void((is_meant(wanted) || ...));
        });
        if (problem) return;
        ((wanted.required && !problem ? void(problem = missing_parameter(wanted.name)) : void()), ...);
    }

    /// Every member that is not null.
    template <class Use>
    void each(ondemand::object in, Use use)
    {
        for (auto item : in) {
            ondemand::field field;
            std::string_view key;
            bool null = false;
            if (std::move(item).get(field) || field.unescaped_key().get(key)) return malformed();
            if (field.value().is_null().get(null)) return malformed();
            if (!null) use(key, field.value());
            if (problem) return;
        }
    }

    void value_of(ondemand::value, any_value& to) { to.given = true; }
    void value_of(ondemand::value in, std::string& to)
    {
        std::string_view text;
        if (typed(in, in.get_string().get(text), "a string")) to = text;
    }
    void value_of(ondemand::value in, int& to)
    {
        std::int64_t number = 0;
        if (!typed(in, in.get_int64().get(number), "an integer")) return;
        using limits = std::numeric_limits<int>;
        if (number < limits::min() || number > limits::max()) return wrong("is out of range");
        to = static_cast<int>(number);
    }
    void value_of(ondemand::value in, sqs::seconds& to)
    {
        int number = 0;
        value_of(in, number);
        to = sqs::seconds(number);
    }
    template <class T>
    void value_of(ondemand::value in, std::optional<T>& to)
    {
        value_of(in, to.emplace());
    }

    template <class T>
    void value_of(ondemand::value in, std::vector<T>& to)
    {
        ondemand::array items;
        if (!typed(in, in.get_array().get(items), "an array")) return;
        for (auto item : items) {
            ondemand::value value;
            bool null = false;
            if (std::move(item).get(value) || value.is_null().get(null)) return malformed();
            if (!null) value_of(value, to.emplace_back());
            if (problem) return;
        }
    }
    template <class T>
    void value_of(ondemand::value in, std::map<std::string, T>& to)
    {
        ondemand::object items;
        if (!typed(in, in.get_object().get(items), "an object")) return;
        each(items, [&](std::string_view key, ondemand::value value) { value_of(value, to[std::string(key)]); });
    }
    void value_of(ondemand::value in, sqs::attribute_value& to)
    {
        ondemand::object fields;
        if (!typed(in, in.get_object().get(fields), "an object")) return;
        std::string text, bytes;
        any_value lists;
        members(fields, may("DataType", to.data_type), may("StringValue", text), may("BinaryValue", bytes),
            may("StringListValues", lists), may("BinaryListValues", lists));
        if (problem) return;
        has_list_values |= lists.given;
        if (!to.is_binary()) {
            to.value = std::move(text);
        } else if (auto decoded = text::base64_decode(bytes)) {
            to.value = std::move(*decoded);
        } else {
            name_ = "BinaryValue";
            wrong("is not valid base64");
        }
    }
    template <class Entry>
    void value_of(ondemand::value in, Entry& to)
    {
        ondemand::object fields;
        if (typed(in, in.get_object().get(fields), "an object")) read(fields, to);
    }

    bool typed(ondemand::value in, simdjson::error_code ec, std::string_view expected)
    {
        if (!ec) return true;
        if (ec == simdjson::INCORRECT_TYPE || is_number_error(ec))
            wrong("must be " + std::string(expected) + ", not " + std::string(type_name(in)));
        else
            wrong("is not valid JSON");
        return false;
    }
    void wrong(std::string what) { refuse("The member " + std::string(name_) + " " + std::move(what) + "."); }

    std::string_view name_; ///< of the member being read, for messages
};

} // namespace

struct wire_decoder::state {
    ondemand::parser parser;
};

wire_decoder::wire_decoder() : state_(std::make_unique<state>()) {}
wire_decoder::~wire_decoder() = default;

std::size_t wire_decoder::capacity() const
{
    return state_->parser.capacity();
}

template <class Request>
result<Request> wire_decoder::decode(std::string_view body)
{
    static constexpr char empty[2 + padding] = "{}";
    if (body.empty()) body = {empty, 2};

    Request out;
    reader in;
    {
        ondemand::document document;
        ondemand::object object;
        if (state_->parser.iterate(body, body.size() + padding).get(document) || document.get_object().get(object)) {
            in.refuse("The body of the request is not a JSON object.");
        } else {
            in.read(object, out);
            if (!in.problem && document.current_location().error() != simdjson::OUT_OF_BOUNDS) in.malformed();
        }
    }
    if (state_->parser.capacity() > kept)
        state_->parser = ondemand::parser(); // six times as much as the largest request ever
    if (in.problem) return std::move(*in.problem);
    if (in.has_list_values) {
        bool const batch = std::is_same_v<Request, sqs::send_message_batch_request>;
        return no_list_values(batch ? "SendMessageBatch" : "SendMessage");
    }
    return out;
}

template result<sqs::send_message_request> wire_decoder::decode(std::string_view);
template result<sqs::send_message_batch_request> wire_decoder::decode(std::string_view);
template result<sqs::receive_message_request> wire_decoder::decode(std::string_view);
template result<sqs::delete_message_request> wire_decoder::decode(std::string_view);
template result<sqs::delete_message_batch_request> wire_decoder::decode(std::string_view);
template result<sqs::change_message_visibility_request> wire_decoder::decode(std::string_view);
template result<sqs::change_message_visibility_batch_request> wire_decoder::decode(std::string_view);
template result<sqs::create_queue_request> wire_decoder::decode(std::string_view);
template result<sqs::delete_queue_request> wire_decoder::decode(std::string_view);
template result<sqs::purge_queue_request> wire_decoder::decode(std::string_view);
template result<sqs::get_queue_url_request> wire_decoder::decode(std::string_view);
template result<sqs::list_queues_request> wire_decoder::decode(std::string_view);
template result<sqs::get_queue_attributes_request> wire_decoder::decode(std::string_view);
template result<sqs::set_queue_attributes_request> wire_decoder::decode(std::string_view);
template result<sqs::list_dead_letter_source_queues_request> wire_decoder::decode(std::string_view);
template result<sqs::tag_queue_request> wire_decoder::decode(std::string_view);
template result<sqs::untag_queue_request> wire_decoder::decode(std::string_view);
template result<sqs::list_queue_tags_request> wire_decoder::decode(std::string_view);
template result<sqs::add_permission_request> wire_decoder::decode(std::string_view);
template result<sqs::remove_permission_request> wire_decoder::decode(std::string_view);
template result<sqs::start_message_move_task_request> wire_decoder::decode(std::string_view);
template result<sqs::cancel_message_move_task_request> wire_decoder::decode(std::string_view);
template result<sqs::list_message_move_tasks_request> wire_decoder::decode(std::string_view);

} // namespace quern::broker::detail
