#include "request.hpp"

#include <charconv>

namespace yardstick {

namespace {

bool same(std::string_view a, std::string_view lower)
{
    if (a.size() != lower.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if ((a[i] >= 'A' && a[i] <= 'Z' ? a[i] + 32 : a[i]) != lower[i]) return false;
    return true;
}

std::string_view trimmed(std::string_view text)
{
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ')
        text.remove_suffix(1);
    return text;
}

void read_field(http_head& out, std::string_view name, std::string_view value)
{
    if (same(name, "content-length"))
        out.understood &= std::from_chars(value.data(), value.data() + value.size(), out.body).ec == std::errc();
    else if (same(name, "x-amz-target"))
        out.action = value.substr(value.find('.') + 1);
    else if (same(name, "host"))
        out.host = value;
    else if (same(name, "connection"))
        out.close = same(value, "close");
    else if (same(name, "expect"))
        out.expects = true;
    else if (same(name, "transfer-encoding"))
        out.understood = false; // no SDK sends one to SQS
}

using simdjson::ondemand::value;

std::string_view text(value v)
{
    return std::string_view(v.get_string());
}

void read_entry(entry& out, std::string_view name, value v)
{
    if (name == "Id")
        out.id = text(v);
    else if (name == "ReceiptHandle")
        out.handle = text(v);
    else if (name == "VisibilityTimeout")
        out.visibility = v.get_int64();
}

void read_member(call& out, std::string_view name, value v)
{
    if (name == "Entries") {
        for (auto one : v.get_array()) {
            auto& to = out.entries.emplace_back();
            for (auto field : one.get_object())
                read_entry(to, field.unescaped_key(), field.value());
        }
    } else if (name == "ReceiptHandle") {
        out.entries.emplace_back().handle = text(v);
    } else if (name == "MaxNumberOfMessages") {
        out.max = v.get_int64();
    } else if (name == "QueueName") {
        out.queue_name = text(v);
    } else if (name == "WaitTimeSeconds") {
        out.wait = v.get_int64();
    } else if (name == "VisibilityTimeout") {
        out.visibility = v.get_int64();
    } else if (name == "MessageSystemAttributeNames" || name == "AttributeNames") {
        for (auto one : v.get_array())
            out.attributes.push_back(text(one.value()));
    }
}

} // namespace

std::optional<http_head> read_head(std::string_view data)
{
    auto const end = data.find("\r\n\r\n");
    if (end == data.npos) return {};
    http_head out;
    out.head = end + 4;
    out.understood = true;

    auto at = data.find("\r\n");
    auto const line = data.substr(0, at);
    auto const first = line.find(' '), last = line.rfind(' ');
    if (first == line.npos || first == last) {
        out.understood = false;
        return out;
    }
    out.method = line.substr(0, first);
    out.target = line.substr(first + 1, last - first - 1);
    while (at < end) {
        at += 2;
        auto const stop = data.find("\r\n", at);
        auto const field = data.substr(at, stop - at);
        auto const colon = field.find(':');
        if (colon != field.npos) read_field(out, field.substr(0, colon), trimmed(field.substr(colon + 1)));
        at = stop;
    }
    return out;
}

call const& call_reader::read(std::string_view body)
{
    call_.queue_name = {};
    call_.max = 1;
    call_.visibility.reset();
    call_.wait.reset();
    call_.attributes.clear();
    call_.entries.clear();
    call_.understood = true;
    try {
        simdjson::padded_string_view const padded(body.data(), body.size(), body.size() + simdjson::SIMDJSON_PADDING);
        simdjson::ondemand::document document = parser_.iterate(padded);
        for (auto field : document.get_object())
            read_member(call_, field.unescaped_key(), field.value());
        // ChangeMessageVisibility has both at the top.
        if (call_.entries.size() == 1 && !call_.entries.front().visibility)
            call_.entries.front().visibility = call_.visibility;
    } catch (simdjson::simdjson_error const&) {
        call_.understood = false;
    }
    return call_;
}

} // namespace yardstick
