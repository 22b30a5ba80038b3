#pragma once

#include <quern/redrive/journal.hpp>

#include <string>
#include <utility>
#include <vector>

namespace quern::test {

using namespace quern::redrive;
using namespace std::chrono_literals;

inline constexpr wall_time run_start{std::chrono::hours(24 * 365 * 56) + 123ms};

inline event made(event_kind kind, std::string message = {})
{
    event out;
    out.kind = kind;
    out.message = std::move(message);
    out.at = run_start;
    if (kind == event_kind::started) out.version = event::current_version;
    if (kind == event_kind::planned) out.decision = "send";
    return out;
}

/// A run in which message "m" has gone through these.
struct course {
    run_book book;

    result<void> go(event e)
    {
        e.id = book.last_id() + 1;
        return book.apply(e);
    }
    explicit course(std::vector<event_kind> const& kinds)
    {
        go(made(event_kind::started)).value();
        for (auto const kind : kinds) {
            auto const about_run = kind == event_kind::resumed || kind == event_kind::stopped ||
                kind == event_kind::succeeded || kind == event_kind::cancelled;
            go(made(kind, about_run ? "" : "m")).value();
        }
    }
};

using k = event_kind;
inline std::vector<k> const to_planned{k::planned}, to_waiting{k::planned, k::waiting},
    to_sending{k::planned, k::sending}, to_unknown{k::planned, k::sending, k::resumed},
    to_sent{k::planned, k::sending, k::sent}, to_done{k::planned, k::sending, k::sent, k::deleted}, to_left{k::left};

inline std::string lines_of(std::vector<event> all)
{
    std::string out;
    std::uint64_t id = 0;
    for (auto& one : all) {
        one.id = ++id;
        out += to_line(one);
    }
    return out;
}

} // namespace quern::test
