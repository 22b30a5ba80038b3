#pragma once

#include <quern/tracing/traced_api.hpp>

#include "consumer/mill.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace quern::test {

/// Value of an attribute as text; "none" where there is none.
inline std::string value_of(telemetry::span_attributes const& all, std::string_view name)
{
    for (auto const& [key, value] : all) {
        if (key != name) continue;
        if (auto const* const text = std::get_if<std::string>(&value)) return *text;
        if (auto const* const number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
        return std::get<bool>(value) ? "true" : "false";
    }
    return "none";
}

inline std::string value_of(telemetry::span const& s, std::string_view name)
{
    return value_of(s.attributes, name);
}

/// A mill whose consumer is traced.
struct traced_mill : mill {
    std::shared_ptr<tracing::tracer> spans;
    std::optional<tracing::traced_api> traced;
    std::shared_ptr<tracing::message_traces> its;
    std::vector<telemetry::span> taken;

    static constexpr char const* sender = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    void trace(telemetry::trace_options o = {}, tracing::correlation how = tracing::correlation::parent)
    {
        spans = std::make_shared<tracing::tracer>(o, time, 7);
        traced.emplace(api, spans);
        its = traced->of_queue(url, options.observer, how);
        options.observer = its;
    }

    void send_from(std::string parent, std::string body = "m")
    {
        sqs::send_message_request request(url, std::move(body));
        if (!parent.empty()) request.attributes["traceparent"] = {"String", std::move(parent)};
        engine.send_message(std::move(request), time.wall()).value();
    }

    template <class F>
    void consume_traced(F handle)
    {
        it.emplace(io.get_executor(), *traced, url, std::move(handle), options);
        it->start();
    }

    /// The spans so far whose messaging.operation.type is that, in the order of their ends.
    std::vector<telemetry::span> all(std::string_view type)
    {
        for (auto& one : spans->take(10'000))
            taken.push_back(std::move(one));
        std::vector<telemetry::span> out;
        std::ranges::copy_if(taken, std::back_inserter(out),
            [&](auto const& s) { return value_of(s, "messaging.operation.type") == type; });
        return out;
    }

    telemetry::span only(std::string_view type)
    {
        auto const got = all(type);
        BOOST_REQUIRE_MESSAGE(got.size() == 1u, got.size() << " spans of " << type);
        return got.front();
    }

    ~traced_mill()
    {
        if (it && !report) drained();
        it.reset();
    }
};

} // namespace quern::test
