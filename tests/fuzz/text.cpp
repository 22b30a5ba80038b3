#include "target.hpp"

#include <quern/broker/detail/hex16.hpp>
#include <quern/core/detail/printable.hpp>
#include <quern/core/detail/text/base64.hpp>
#include <quern/core/detail/text/date.hpp>
#include <quern/core/detail/text/digest.hpp>
#include <quern/core/detail/text/json_writer.hpp>
#include <quern/core/detail/text/xml.hpp>

#include <simdjson.h>

#include <string>

namespace quern::fuzz {

void base64(std::string_view bytes)
{
    auto const decoded = text::base64_decode(bytes);
    if (decoded) must(text::base64_encode(*decoded) == bytes, "what is decoded encodes to the same text");
    must(text::base64_decode(text::base64_encode(bytes)) == std::string(bytes), "what is encoded decodes to itself");
}

void dates(std::string_view bytes)
{
    if (auto const time = text::parse_rfc3339(bytes)) {
        must(*time <= text::last_moment, "no time is later than the last moment");
        must(text::parse_rfc3339(text::rfc3339(*time)) == time, "a time that was read can be written and read again");
    }
    if (auto const time = text::parse_timestamp(bytes))
        must(text::parse_timestamp(text::timestamp(*time).text()) == time,
            "a timestamp can be written and read again");
    text::parse_http_date(bytes);
}

void hex(std::string_view bytes)
{
    broker::hex16 const read(bytes);
    char written[broker::hex16::digits];
    read.write(written);
    char again[broker::hex16::digits];
    broker::hex16(std::string_view(written, sizeof written)).write(again);
    must(std::string_view(written, sizeof written) == std::string_view(again, sizeof again), "digits are kept");
    must(text::hex(std::as_bytes(std::span(bytes))).size() == 2 * bytes.size(), "two digits a byte");
}

void json_text(std::string_view bytes)
{
    std::string out;
    text::append_json_string(out, bytes);
    printable(std::string(bytes));
    if (!simdjson::validate_utf8(bytes.data(), bytes.size())) return;
    simdjson::dom::parser parser;
    std::string_view read;
    must(parser.parse(out).get(read) == simdjson::SUCCESS, "what is written as JSON is JSON");
    must(read == bytes, "a text survives JSON");
}

void xml(std::string_view bytes)
{
    auto const read = text::read_xml(bytes);
    if (read) must(!read->root.empty(), "a document has a root");
}

} // namespace quern::fuzz
