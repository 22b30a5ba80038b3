#pragma once

#include <quern/telemetry/log.hpp>

#include <utility>

namespace quern::app {

/// The log of a consumer whose handlers reject nothing: where rejected messages would go is no matter.
inline log_sink without_word_of_rejects(log_sink to)
{
    return [to = std::move(to)](log_level level, log_text const& text) {
        if (text.starts_with("redrive policy: ") && text.ends_with("rejected messages will be deleted")) return;
        to(level, text);
    };
}

} // namespace quern::app
