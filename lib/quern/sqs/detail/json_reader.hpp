#pragma once

#include <quern/core/detail/text/base64.hpp>
#include <quern/core/error.hpp>
#include <quern/core/simdjson.hpp>
#include <quern/sqs/types.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace quern::sqs::detail {

namespace od = simdjson::ondemand;
using simdjson::error_code;

/// One answer on its way from JSON to our types, in one pass. Every function returns simdjson's error code and, when
/// that is not SUCCESS, leaves in `where` the path of the member at fault, as far as it has unwound.
///
/// Text is unescaped into an arena at least as large as the body: no text is longer unescaped than it was in the
/// answer, and each is read once, so all of them fit.
class json_reader {
public:
    /// `size`: of the arena, that of the body and SIMDJSON_PADDING at least.
    json_reader(od::parser& parser, std::shared_ptr<std::byte[]> arena, std::size_t size)
        : room(size), storage(std::move(arena)), parser_(parser),
          next_(reinterpret_cast<std::uint8_t*>(storage.get()))
    {}

    std::size_t const room; ///< of the storage
    std::shared_ptr<std::byte[]> storage;
    std::string where;

    /// Whether the JSON around the fault is sound, so that what follows can be read.
    static bool is_local(error_code e)
    {
        return e == simdjson::INCORRECT_TYPE || e == simdjson::STRING_ERROR || is_number_error(e) ||
            e == simdjson::NUMBER_OUT_OF_RANGE || e == simdjson::NO_SUCH_FIELD;
    }

    /// A member that must be there and is not.
    error_code missing(std::string_view name) { return under(name, simdjson::NO_SUCH_FIELD); }

    /// Puts a step before the path to the fault.
    error_code under(std::string_view step, error_code e)
    {
        if (!where.empty() && where.front() != '[') where.insert(0, 1, '.');
        where.insert(0, step);
        return e;
    }

    failure problem(error_code e) const
    {
        std::string why = where.empty() ? "the answer" : where;
        return {errc::bad_reply, why + ": " + (e == simdjson::NO_SUCH_FIELD ? "missing" : error_message(e))};
    }

    /// Calls on_member(name, value) for each member that is not null, until one fails.
    template <class F>
    error_code members(od::value all, F on_member)
    {
        od::object object;
        if (auto const e = all.get_object().get(object)) return e;
        return members_of(object, on_member);
    }

    template <class F>
    error_code members_of(od::object object, F const& on_member)
    {
        for (auto each : object) {
            od::field member;
            if (auto const e = std::move(each).get(member)) return e;
            std::string_view name;
            if (auto const e = text(member.key(), name)) return e;
            auto e = present(member.value(), [&](od::value v) { return on_member(name, v); });
            if (e) return under(name, e);
        }
        return simdjson::SUCCESS;
    }

    /// Calls on_element(value) for each element that is not null, until one fails.
    template <class F>
    error_code elements(od::value all, F on_element)
    {
        od::array array;
        if (auto const e = all.get_array().get(array)) return e;
        std::size_t index = 0;
        for (auto each : array) {
            od::value element;
            if (auto const e = std::move(each).get(element)) return e;
            if (auto const e = present(element, on_element)) return under('[' + std::to_string(index) + ']', e);
            ++index;
        }
        return simdjson::SUCCESS;
    }

    error_code read(od::value from, std::string_view& to)
    {
        od::raw_json_string raw;
        if (auto const e = from.get_raw_json_string().get(raw)) return e;
        return text(raw, to);
    }

    /// The bytes take the place of their text.
    error_code read_base64(od::value from, std::string_view& to)
    {
        std::string_view text;
        if (auto const e = read(from, text)) return e;
        auto const bytes = quern::detail::text::base64_decode(text);
        if (!bytes) return simdjson::STRING_ERROR;
        auto const place = reinterpret_cast<char*>(next_) - text.size();
        to = {place, bytes->copy(place, bytes->size())};
        return simdjson::SUCCESS;
    }

    error_code read(od::value from, std::string& to)
    {
        std::string_view view;
        if (auto const e = read(from, view)) return e;
        to = view;
        return simdjson::SUCCESS;
    }

    error_code read(od::value from, bool& to) { return from.get_bool().get(to); }
    error_code read(od::value from, std::int64_t& to) { return from.get_int64().get(to); }

    error_code read(od::value from, int& to)
    {
        std::int64_t wide = 0;
        if (auto const e = read(from, wide)) return e;
        to = static_cast<int>(wide);
        return to == wide ? simdjson::SUCCESS : simdjson::NUMBER_OUT_OF_RANGE;
    }

    template <class T>
    error_code read(od::value from, std::optional<T>& to)
    {
        return read(from, to.emplace());
    }

    error_code read(od::value from, string_map& to)
    {
        return members(from, [&](std::string_view name, od::value v) { return read(v, to[std::string(name)]); });
    }

    error_code read(od::value from, std::vector<std::string>& to)
    {
        return elements(from, [&](od::value v) { return read(v, to.emplace_back()); });
    }

private:
    error_code text(od::raw_json_string raw, std::string_view& to) { return parser_.unescape(raw, next_).get(to); }

    template <class F>
    error_code present(od::value v, F const& use)
    {
        bool null = false;
        if (auto const e = v.is_null().get(null)) return e;
        return null ? simdjson::SUCCESS : use(v);
    }

    od::parser& parser_;
    std::uint8_t* next_;
};

} // namespace quern::sqs::detail
