#include "target.hpp"

#include <quern/broker/detail/hex16.hpp>
#include <quern/core/detail/printable.hpp>
#include <quern/core/detail/text/base64.hpp>
#include <quern/core/detail/text/date.hpp>
#include <quern/core/detail/text/digest.hpp>
#include <quern/core/detail/text/exact_number.hpp>
#include <quern/core/detail/text/json_find.hpp>
#include <quern/core/detail/text/json_writer.hpp>
#include <quern/core/detail/text/xml.hpp>
#include <quern/core/simdjson.hpp>

#include <string>

namespace quern::fuzz {

using namespace quern::detail;
using namespace quern::broker::detail;

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
    hex16 const read(bytes);
    char written[hex16::digits];
    read.write(written);
    char again[hex16::digits];
    hex16(std::string_view(written, sizeof written)).write(again);
    must(std::string_view(written, sizeof written) == std::string_view(again, sizeof again), "digits are kept");
    must(text::hex(std::as_bytes(std::span(bytes))).size() == 2 * bytes.size(), "two digits a byte");
}

/// A body, and behind \x1e a pointer into it. simdjson is the other opinion, but for numbers that it cannot hold.
void json_look(std::string_view bytes)
{
    namespace dom = simdjson::dom;
    auto const half = bytes.find('\x1e');
    auto const body = bytes.substr(0, half);
    auto const pointer = half == bytes.npos ? std::string_view() : bytes.substr(half + 1);
    auto const look = text::find_json(body, pointer);
    must(look.readable || !look.found, "nothing is found in what is no JSON");
    if (look.found) {
        auto const again = text::find_json(look.found->json, "");
        must(again.found && again.found->json == look.found->json, "what is found is JSON by itself");
        auto const shown = look.found->as_text();
        if (look.found->kind == text::json_kind::number) {
            must(shown == look.found->json, "a number keeps its digits");
            auto const exact = text::exact_number(shown);
            must(!exact || *exact == "0" || text::exact_number(*exact) == exact, "an exact number is itself exactly");
        }
        for (auto const& one : look.found->elements())
            must(text::find_json(one.json, "").readable, "an element is JSON by itself");
    }
    dom::parser parser;
    dom::element all, found;
    auto const error = parser.parse(body.data(), body.size()).get(all);
    if (error == simdjson::NUMBER_ERROR || error == simdjson::DEPTH_ERROR) return;
    if (body.starts_with("\xef\xbb\xbf")) return;
    must(look.readable == (error == simdjson::SUCCESS), "JSON is what it is elsewhere");
    if (error != simdjson::SUCCESS) return;
    must(look.found.has_value() == (all.at_pointer(pointer).get(found) == simdjson::SUCCESS),
        "a pointer leads where it leads elsewhere");
    std::string_view text;
    if (look.found && found.get(text) == simdjson::SUCCESS)
        must(look.found->as_text() == text, "a text is what it is elsewhere");
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
