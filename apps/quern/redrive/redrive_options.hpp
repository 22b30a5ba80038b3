#pragma once

#include "common/admin_port.hpp"

#include <quern/redrive/redriver.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::app {

class command;

/// The command line of `quern redrive` and `quern redrive isolate`.
struct redrive_options {
    std::string queue;
    std::string to;
    bool to_source = false;
    std::string poison_queue;
    std::vector<std::string> rules; ///< see rule_from()

    std::optional<std::size_t> limit;
    std::string id, group, chosen_reason, since, until;
    std::string since_at, until_at; ///< the moments that these mean; see fix_moments()
    std::vector<std::string> where, where_body;
    std::string cutoff = "now";

    std::string rate, ramp, canary, stop_on_return, stop_on_failure;
    std::size_t concurrency = redrive::options().concurrency;

    int max_attempts = redrive::plan_policy().max_attempts;
    std::string delay_base = "60s", delay_max = "15m", jitter = "none";
    bool keep = false;

    bool isolate = false;
    std::string reason = "isolated by hand";

    std::string native = "never";
    std::string breaker_flag; // see parse_flag()
    std::string on_open = "stop";
    std::string journal, name;
    bool again = false;

    bool dry_run = false, yes = false;
    std::string report, metrics;
    admin_options admin;
};

/// Adds those that tell which messages, how fast, and how carefully. They outlive the reading of the command line.
void add_common_options(command& to, redrive_options&);

/// Adds those of a redrive alone, those of `isolate` alone, and those about what is told of a run.
void add_redrive_options(command& to, redrive_options&);
void add_isolate_options(command& to, redrive_options&);
void add_telling_options(command& to, redrive_options&);

/// Settles what "2h" ago means: `now` is the same for a run that goes on, however much later.
void fix_moments(redrive_options&, wall_time now);

/// Settings of a run as its journal keeps them, as JSON, and back. What is no such text is refused, and so is a
/// setting that is not UTF-8, or not known. One that is missing has its default.
result<std::string> to_input(redrive_options const&);
result<redrive_options> from_input(std::string_view text);

/// Whether the run that has this input was begun with these options, but for the moments that they meant then.
bool is_input_of(redrive_options, std::string_view input);

/// The name that a run over this queue has in a journal, where none is given.
std::string journal_name(redrive_options const&);

/// The file that --breaker-flag names, where it names one.
std::optional<std::string> flag_file(redrive_options const&);

/// The redriver's options, but for the URLs of the queues, and for a flag that stands in no file. Wants what
/// fix_moments() does.
result<redrive::options> options_from(redrive_options const&);

} // namespace quern::app
