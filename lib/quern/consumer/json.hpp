#pragma once

// quern.hpp leaves this file out: simdjson alone takes a second to compile.

#include <quern/consumer/outcome.hpp>
#include <quern/consumer/typed.hpp>
#include <quern/core/simdjson.hpp>

#include <concepts>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace quern {

/// A JSON text on its way through a decoder: reads it once, from front to back.
using json_document = simdjson::ondemand::document;

namespace detail {

/// Memory that a thread reads JSON with, used again. A decoder may read another text meanwhile: that gets its own.
/// The parser is another class where units are compiled for other processors.
template <class Parser = simdjson::ondemand::parser>
class json_bench {
public:
    json_bench() : its_(spare() ? std::move(spare()) : std::make_unique<tools>()) {}
    json_bench(json_bench const&) = delete;
    json_bench& operator=(json_bench const&) = delete;
    ~json_bench()
    {
        if (its_->room <= kept) spare() = std::move(its_);
    }

    json_document open(std::string_view text)
    {
        if (its_->room < text.size() + simdjson::SIMDJSON_PADDING) {
            its_->room = text.size() + simdjson::SIMDJSON_PADDING;
            its_->bytes = std::make_unique<char[]>(its_->room);
        }
        std::memcpy(its_->bytes.get(), text.data(), text.size());
        std::memset(its_->bytes.get() + text.size(), 0, simdjson::SIMDJSON_PADDING);
        size_ = text.size();
        return its_->parser.iterate(its_->bytes.get(), text.size(), its_->room);
    }

    /// "at byte 17: The JSON element does not have the requested type."
    std::string complaint(simdjson::simdjson_error const& e, json_document* at) const
    {
        char const* here = nullptr;
        if (at && at->current_location().get(here) != simdjson::SUCCESS) here = nullptr;
        auto const place = here ? "at byte " + std::to_string(here - its_->bytes.get())
                                : "within its " + std::to_string(size_) + " bytes";
        return "JSON, " + place + ": " + e.what();
    }

private:
    static constexpr std::size_t kept = std::size_t(1) << 20; // the largest message: more is for one text alone

    struct tools {
        Parser parser;
        std::unique_ptr<char[]> bytes;
        std::size_t room = 0;
    };
    static std::unique_ptr<tools>& spare()
    {
        thread_local std::unique_ptr<tools> one;
        return one;
    }

    std::unique_ptr<tools> its_;
    std::size_t size_ = 0;
};

} // namespace detail

/// Reads a text as JSON: returns what `decode(json_document&)` makes of it. Copy what is a string_view there: it goes
/// with the document. What `decode` does not look at is not checked.
///
/// Throws parse_error, which names the byte, when the text is no JSON or not what `decode` asked it for. Other
/// exceptions of `decode` pass.
template <class Decode>
auto read_json(std::string_view text, Decode&& decode)
{
    static_assert(!std::same_as<std::invoke_result_t<Decode&, json_document&>, std::string_view>,
        "a string_view would refer to the document, which goes: return a std::string");
    detail::json_bench<> bench;
    json_document document;
    json_document* opened = nullptr;
    try {
        document = bench.open(text);
        opened = &document;
        return decode(document);
    } catch (simdjson::simdjson_error const& e) {
        throw parse_error(bench.complaint(e, opened));
    }
}

/// The member of that name, wherever it stands in `object` (a document, or an object in one): std::string,
/// std::string_view, bool, double or std::int64_t, std::uint64_t, or what simdjson can get.
///
/// Throws parse_error that names the member.
template <class T, class Object>
T json_member(Object& object, std::string_view name)
{
    using got = std::conditional_t<std::same_as<T, std::string>, std::string_view, T>;
    try {
        got value = object.find_field_unordered(name).template get<got>();
        return T(std::move(value));
    } catch (simdjson::simdjson_error const& e) {
        throw parse_error("JSON, member \"" + std::string(name) + "\": " + e.what());
    }
}

/// A handler `next(T&, delivery&)` of messages whose body is JSON; `decode(json_document&)` returns the T.
///
///     struct order { std::string item; std::int64_t count; };
///     order decode(quern::json_document& d)
///     {
///         return {quern::json_member<std::string>(d, "item"), quern::json_member<std::int64_t>(d, "count")};
///     }
///     quern::consumer c(io, url, quern::json<order>(decode, [](order& o, quern::delivery&) { ... }));
///
/// Fails as read_json() does; see typed(), and consumer_options::on_malformed.
template <class T, class Decode, class Next>
auto json(Decode decode, Next next)
{
    auto read = [decode = std::move(decode)](std::string_view text) mutable -> T { return read_json(text, decode); };
    return typed(std::move(read), std::move(next));
}

} // namespace quern
