#include "log_format.hpp"

#include <quern/core/detail/text/json_writer.hpp>

#include <fmt/chrono.h>
#include <spdlog/details/log_msg.h>

#include <chrono>
#include <string_view>

namespace quern::app {
namespace {

/// "2026-11-22T12:00:00.000Z"
std::string rfc3339_milliseconds(std::chrono::system_clock::time_point at)
{
    auto const seconds = std::chrono::floor<std::chrono::seconds>(at);
    auto const ms = std::chrono::floor<std::chrono::milliseconds>(at - seconds).count();
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)), ms);
}

class as_json final : public spdlog::formatter {
public:
    explicit as_json(bool ecs) : ecs_(ecs) {}

    void format(spdlog::details::log_msg const& what, spdlog::memory_buf_t& to) override
    {
        std::string out;
        text::json_writer json(out);
        auto const level = spdlog::level::to_string_view(what.level);
        json.begin_object();
        json.member(ecs_ ? "@timestamp" : "timestamp", rfc3339_milliseconds(what.time));
        json.member(ecs_ ? "log.level" : "level", std::string_view(level.data(), level.size()));
        json.member("message", std::string_view(what.payload.data(), what.payload.size()));
        json.member(ecs_ ? "log.logger" : "logger", "quern");
        if (ecs_) json.member("ecs.version", "8.11.0");
        json.end_object();
        out += '\n';
        to.append(out.data(), out.data() + out.size());
    }

    std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<as_json>(ecs_); }

private:
    bool const ecs_;
};

} // namespace

std::unique_ptr<spdlog::formatter> json_log_format(std::string const& form)
{
    return std::make_unique<as_json>(form == "ecs");
}

} // namespace quern::app
