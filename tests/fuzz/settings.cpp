#include "quern/broker/queues_file.hpp"
#include "quern/consume/settings_file.hpp"
#include "quern/relay/relay_file.hpp"
#include "target.hpp"

namespace quern::fuzz {

/// One document in TOML, as each of the program's files of settings.
void settings(std::string_view bytes)
{
    auto const told = [](auto const& read) {
        must(read || read.error().message.find("a.toml") != std::string::npos, "a complaint names the file");
    };
    auto const limits = app::limits_from(bytes, "a.toml", consumer_limits());
    told(limits);
    must(!limits || !limits->validate(), "limits that are taken can be set");

    app::relay_settings relay;
    told(app::read_relay_settings(bytes, "a.toml", relay));
    (void)relay.conflict();

    auto plan = app::plan_queues(bytes, "a.toml", "arn:aws:sqs:us-east-1:000000000000:");
    told(plan);
    if (!plan) return;
    broker::engine engine;
    auto const made = app::make_queues(std::move(*plan), engine, broker::instant());
    told(made);
}

} // namespace quern::fuzz
