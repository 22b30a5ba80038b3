#include "common/log_format.hpp"

#include "common/message_json.hpp"

#include <quern/core/detail/printable.hpp>
#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/json_writer.hpp>

#include <spdlog/details/log_msg.h>
#include <spdlog/pattern_formatter.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

namespace quern::app {

using namespace quern::detail;

namespace {

using namer = std::function<std::optional<telemetry::trace_context>(std::string_view)>;

thread_local log_subject const* subject = nullptr;

std::mutex naming; // for this
namer traces;

std::optional<telemetry::trace_context> trace_of(std::string_view message_id)
{
    if (message_id.empty()) return {};
    namer ask;
    {
        std::lock_guard const held(naming);
        ask = traces;
    }
    return ask ? ask(message_id) : std::nullopt;
}

/// Texts of strangers may be part of it.
std::string printable_payload(spdlog::details::log_msg const& what)
{
    return printable(std::string(what.payload.data(), what.payload.size()));
}

class payload_flag final : public spdlog::custom_flag_formatter {
public:
    void format(spdlog::details::log_msg const& what, std::tm const&, spdlog::memory_buf_t& to) override
    {
        auto const text = printable_payload(what);
        to.append(text.data(), text.data() + text.size());
    }

    std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<payload_flag>(); }
};

class as_json final : public spdlog::formatter {
public:
    explicit as_json(bool ecs) : ecs_(ecs) {}

    void format(spdlog::details::log_msg const& what, spdlog::memory_buf_t& to) override
    {
        std::string out;
        text::json_writer json(out);
        auto const level = spdlog::level::to_string_view(what.level);
        json.begin_object();
        json.member(ecs_ ? "@timestamp" : "timestamp", iso_time(what.time));
        json.member(ecs_ ? "log.level" : "level", std::string_view(level.data(), level.size()));
        auto const text = printable_payload(what);
        json.member("message", text);
        json.member(ecs_ ? "log.logger" : "logger", "quern");
        if (ecs_) json.member("ecs.version", "8.11.0");
        write_subject(json, subject ? *subject : log_subject(), message_id_in(text));
        json.end_object();
        out += '\n';
        to.append(out.data(), out.data() + out.size());
    }

    std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<as_json>(ecs_); }

private:
    void write_subject(text::json_writer& json, log_subject const& about, std::string_view id_in_text) const
    {
        auto const named = [this](char const* name) { return (ecs_ ? "quern." : "") + std::string(name); };
        auto const id = about.message_id.empty() ? id_in_text : about.message_id;
        auto const queue = printable(std::string(about.queue.substr(about.queue.rfind('/') + 1)));
        if (!queue.empty()) json.member(named("queue"), queue);
        if (!id.empty()) json.member("message_id", printable(std::string(id)));
        if (about.attempt != 0) json.member(named("attempt"), about.attempt);
        if (about.status != 0) json.member(named("status"), about.status);
        if (about.delay) json.member(named("delay_s"), about.delay->count() / 1000);
        write_trace(json, id);
    }

    void write_trace(text::json_writer& json, std::string_view message_id) const
    {
        auto const trace = trace_of(message_id);
        if (!trace) return;
        json.member(ecs_ ? "trace.id" : "trace_id", telemetry::text_of(trace->trace));
        json.member(ecs_ ? "span.id" : "span_id", telemetry::text_of(trace->span));
        if (!ecs_) json.member("trace_flags", trace->sampled ? "01" : "00");
    }

    bool const ecs_;
};

} // namespace

std::unique_ptr<spdlog::formatter> text_log_format()
{
    auto out = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
    out->add_flag<payload_flag>('*').set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l: %*");
    return out;
}

std::unique_ptr<spdlog::formatter> json_log_format(std::string const& form)
{
    return std::make_unique<as_json>(form == "ecs");
}

void name_traces_in_log(namer who)
{
    std::lock_guard const held(naming);
    std::swap(traces, who);
}

log_subject_now::log_subject_now(log_subject const& about)
{
    subject = &about;
}

log_subject_now::~log_subject_now()
{
    subject = nullptr;
}

std::string_view message_id_in(std::string_view text)
{
    constexpr std::string_view shape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    auto const fits = [](char c, char wanted) { return wanted == 'x' ? text::hex_digit(c) >= 0 : c == wanted; };
    for (std::size_t at = 0; at + shape.size() <= text.size(); ++at) {
        auto const here = text.substr(at, shape.size());
        if (std::ranges::equal(here, shape, fits)) return here;
    }
    return {};
}

} // namespace quern::app
