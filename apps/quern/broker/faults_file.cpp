#include "broker/faults_file.hpp"

#include <quern/broker/detail/front_end.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <fmt/core.h>

#include <fstream>
#include <sstream>
#include <variant>

namespace quern::app {
namespace {

namespace json = boost::json;
using broker::fault_rates;

using member = std::variant<double fault_rates::*, std::chrono::milliseconds fault_rates::*, int fault_rates::*>;

struct setting {
    std::string_view name;
    member where;
};

constexpr setting settings[] = {
    {"latency", &fault_rates::latency},
    {"latency_min", &fault_rates::latency_min},
    {"latency_max", &fault_rates::latency_max},
    {"throttled", &fault_rates::throttled},
    {"access_denied", &fault_rates::access_denied},
    {"server_error", &fault_rates::server_error},
    {"dropped_before", &fault_rates::dropped_before},
    {"dropped_after", &fault_rates::dropped_after},
    {"half_open", &fault_rates::half_open},
    {"truncated", &fault_rates::truncated},
    {"slow", &fault_rates::slow},
    {"slow_bytes_per_second", &fault_rates::slow_bytes_per_second},
    {"entry_failed", &fault_rates::entry_failed},
    {"duplicated", &fault_rates::duplicated},
    {"short_answer", &fault_rates::short_answer},
    {"receipt_expired", &fault_rates::receipt_expired},
};

struct complaint {
    std::string text;
};

[[noreturn]] void refuse(std::string text)
{
    throw complaint{std::move(text)};
}

std::string known_settings()
{
    std::string text;
    for (auto const& s : settings)
        text.append(text.empty() ? "" : ", ").append(s.name);
    return text;
}

json::object const& object(std::string const& key, json::value const& value)
{
    if (!value.is_object()) refuse(key + " must be an object");
    return value.get_object();
}

/// The value, if it is a number of any kind, and in the range of T.
template <class T>
T number(std::string const& key, json::value const& value)
{
    boost::system::error_code ec;
    auto const found = value.to_number<T>(ec);
    if (ec) refuse(key + (std::is_integral_v<T> ? " must be a whole number" : " must be a number"));
    return found;
}

fault_rates rates(std::string const& key, json::value const& value)
{
    fault_rates out;
    for (auto const& [name, what] : object(key, value)) {
        auto const path = key + '.' + std::string(name);
        auto const known = std::ranges::find(settings, std::string_view(name), &setting::name);
        if (known == std::end(settings)) refuse(path + " is no setting; there are " + known_settings());
        auto const assign = [&, &given = what](auto where) { // clang 14 captures no structured binding by itself
            using type = std::remove_reference_t<decltype(out.*where)>;
            if constexpr (std::is_same_v<type, std::chrono::milliseconds>) {
                out.*where = std::chrono::milliseconds(number<std::int32_t>(path, given));
            } else {
                out.*where = number<type>(path, given);
            }
        };
        std::visit(assign, known->where);
    }
    return out;
}

bool is_operation(std::string_view name)
{
    for (std::size_t i = 0; i != broker::detail::front_end::operation_count; ++i) {
        if (broker::detail::front_end::operation_name(i) == name) return true;
    }
    return false;
}

broker::fault_settings faults(json::value const& value)
{
    broker::fault_settings out;
    for (auto const& [name, what] : object("the file", value)) {
        if (name == "seed")
            out.seed = number<std::uint64_t>("seed", what);
        else if (name == "everywhere")
            out.everywhere = rates("everywhere", what);
        else if (name == "by_operation") {
            for (auto const& [operation, of_it] : object("by_operation", what)) {
                auto const key = "by_operation." + std::string(operation);
                if (!is_operation(operation)) refuse(key + " is no operation of SQS");
                out.by_operation[std::string(operation)] = rates(key, of_it);
            }
        } else
            refuse(std::string(name) + " is no setting; there are seed, everywhere, by_operation");
    }
    return out;
}

} // namespace

result<broker::fault_settings> read_faults(std::string const& path)
{
    auto const wrong = [&](std::string const& why) {
        return failure(errc::invalid_option, fmt::format("--faults {}: {}", path, why));
    };
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) return wrong("cannot be read, or is empty");

    boost::system::error_code ec;
    auto const value = json::parse(text.str(), ec);
    if (ec) return wrong("is no JSON: " + ec.message());
    try {
        auto out = faults(value);
        if (auto const bad = out.validate()) return wrong(bad->message);
        return out;
    } catch (complaint const& c) {
        return wrong(c.text);
    }
}

} // namespace quern::app
