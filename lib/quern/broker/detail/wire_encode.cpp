#include <quern/broker/detail/wire_encode.hpp>

#include <quern/core/detail/text/base64.hpp>
#include <quern/sqs/detail/json_form.hpp>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace quern::broker::detail {

using namespace quern::detail;

namespace {

/// How many bytes at the front are a character that XML cannot have, not even escaped: controls, U+FFFE and U+FFFF.
std::size_t unfit_for_xml(std::string_view text)
{
    auto const c = static_cast<unsigned char>(text.front());
    if (c < 0x20) return c != '\t' && c != '\n' && c != '\r' ? 1 : 0;
    if (c != 0xEF) return 0;
    return text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF") ? 3 : 0;
}

void append_xml(std::string& to, std::string_view text)
{
    for (std::size_t i = 0; i != text.size(); ++i) {
        if (auto const size = unfit_for_xml(text.substr(i)); size != 0) {
            to += "\xEF\xBF\xBD"; // U+FFFD
            i += size - 1;
            continue;
        }
        char const c = text[i];
        switch (c) {
        case '&': to += "&amp;"; break;
        case '<': to += "&lt;"; break;
        case '>': to += "&gt;"; break;
        case '"': to += "&quot;"; break;
        case '\r': to += "&#xD;"; break; // by itself a reader would make a line feed of it
        default: to += c;
        }
    }
}

/// <name>…</name> around whatever `inside` appends.
template <class Inside>
void xml_element(std::string& to, std::string_view name, Inside inside)
{
    to.append(1, '<').append(name).append(1, '>');
    inside();
    to.append("</").append(name).append(1, '>');
}

void xml_leaf(std::string& to, std::string_view name, std::string_view text)
{
    xml_element(to, name, [&] { append_xml(to, text); });
}

/// An answer of SQS whose root has this name.
template <class Inside>
void xml_document(std::string& to, std::string_view root, Inside inside)
{
    to.append("<?xml version=\"1.0\"?><").append(root);
    to.append(" xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\">");
    inside();
    to.append("</").append(root).append(1, '>');
}

/// The name in XML of each of what has this name in JSON; empty: that of the operation's entries,
/// "DeleteMessageBatchResultEntry".
std::string_view singular(std::string_view name)
{
    static constexpr std::pair<std::string_view, std::string_view> known[] = {{"Attributes", "Attribute"},
        {"Failed", "BatchResultErrorEntry"}, {"MessageAttributes", "MessageAttribute"}, {"Messages", "Message"},
        {"QueueUrls", "QueueUrl"}, {"Tags", "Tag"}};
    for (auto const& [all, each] : known)
        if (all == name) return each;
    return {};
}

/// Appends answers as XML.
class xml_form {
public:
    xml_form(std::string_view action, std::string& to) : result_(std::string(action) + "Result"), to_(to) {}

    template <class Answer>
    void write(Answer const& answer)
    {
        xml_element(to_, result_, [&] { members(answer); });
    }

private:
    template <class T>
    void members(T const& of)
    {
        sqs::detail::members(
            of, [&](auto const&... each) { ((each.is_left_out() ? void() : write(each.name, each.value)), ...); });
    }

    template <class T>
    void write(std::string_view name, T const& value)
    {
        if constexpr (requires { value.has_value(); })
            write(name, *value);
        else if constexpr (std::is_same_v<T, bool>)
            write(name, std::string_view(value ? "true" : "false"));
        else if constexpr (std::is_integral_v<T>)
            write(name, std::to_string(value));
        else
            xml_leaf(to_, name, value);
    }
    template <class T>
    void write(std::string_view name, std::vector<T> const& values)
    {
        for (auto const& one : values)
            element(name, [&] { members(one); });
    }
    void write(std::string_view name, std::vector<std::string> const& values)
    {
        for (auto const& one : values)
            xml_leaf(to_, singular(name), one);
    }
    void write(std::string_view name, sqs::string_map const& values)
    {
        for (auto const& [key, value] : values)
            element(name, [&, key = std::string_view(key), value = std::string_view(value)] {
                entry(name == "Tags" ? "Key" : "Name", key, value);
            });
    }
    void write(std::string_view name, std::vector<sqs::system_attribute> const& values)
    {
        for (auto const& one : values)
            element(name, [&] { entry("Name", one.name, one.value); });
    }
    void write(std::string_view name, std::vector<sqs::message_attribute> const& values)
    {
        for (auto const& one : values)
            element(name, [&] {
                write("Name", one.name);
                xml_element(to_, "Value", [&] {
                    if (one.is_binary())
                        write("BinaryValue", text::base64_encode(one.value));
                    else
                        write("StringValue", one.value);
                    write("DataType", one.data_type);
                });
            });
    }

    template <class Inside>
    void element(std::string_view name, Inside inside)
    {
        auto const each = singular(name);
        xml_element(to_, each.empty() ? result_ + "Entry" : each, inside);
    }
    void entry(std::string_view key_name, std::string_view key, std::string_view value)
    {
        write(key_name, key);
        write("Value", value);
    }

    std::string const result_;
    std::string& to_;
};

template <class Response>
void write_json(answer_form const& form, Response const& r, std::string& to)
{
    auto const begin = to.size();
    sqs::detail::json_form(to).write(r);
    // The model begins the name of the urls with a small letter here, and only here.
    if (form.action == "ListDeadLetterSourceQueues" && to.compare(begin, 3, "{\"Q") == 0) to[begin + 2] = 'q';
}

} // namespace

template <class Response>
void encode(answer_form const& form, Response const& r, std::string& to)
{
    constexpr bool has_members = !std::is_same_v<Response, sqs::empty_response>;
    if (!form.xml) {
        if constexpr (has_members) write_json(form, r, to);
        return;
    }
    xml_document(to, std::string(form.action) + "Response", [&] {
        if constexpr (has_members) xml_form(form.action, to).write(r);
        xml_element(to, "ResponseMetadata", [&] { xml_leaf(to, "RequestId", form.request_id); });
    });
}

template void encode(answer_form const&, sqs::empty_response const&, std::string&);
template void encode(answer_form const&, sqs::send_message_response const&, std::string&);
template void encode(answer_form const&, sqs::send_message_batch_response const&, std::string&);
template void encode(answer_form const&, sqs::receive_message_response const&, std::string&);
template void encode(answer_form const&, sqs::batch_response<sqs::done_entry> const&, std::string&);
template void encode(answer_form const&, sqs::queue_url_response const&, std::string&);
template void encode(answer_form const&, sqs::queue_urls_response const&, std::string&);
template void encode(answer_form const&, sqs::attributes_response const&, std::string&);
template void encode(answer_form const&, sqs::tags_response const&, std::string&);
template void encode(answer_form const&, sqs::task_handle_response const&, std::string&);
template void encode(answer_form const&, sqs::moved_response const&, std::string&);
template void encode(answer_form const&, sqs::list_message_move_tasks_response const&, std::string&);

void encode_error(std::string_view json_type, std::string_view message, std::string& to)
{
    text::json_writer(to).begin_object().member("__type", json_type).member("message", message).end_object();
}

void encode_xml_error(
    std::string_view type, std::string_view code, std::string_view text, std::string_view request_id, std::string& to)
{
    xml_document(to, "ErrorResponse", [&] {
        xml_element(to, "Error", [&] {
            xml_leaf(to, "Type", type);
            xml_leaf(to, "Code", code);
            xml_leaf(to, "Message", text);
            to += "<Detail/>";
        });
        xml_leaf(to, "RequestId", request_id);
    });
}

} // namespace quern::broker::detail
