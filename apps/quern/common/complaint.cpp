#include "common/complaint.hpp"

#include "common/log_format.hpp"
#include "common/standard_streams.hpp"

#include <quern/aws/config/detail/partitions.hpp>
#include <quern/core/detail/printable.hpp>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace quern::app {

using namespace quern::detail;

namespace {

struct remedy {
    std::string_view service_code; // its end: some are qualified
    std::string_view advice;
};

constexpr std::string_view wrong_key = "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";

constexpr remedy remedies[] = {
    {"NonExistentQueue", "`quern queue list` shows the queues, `quern queue create NAME` makes one"},
    {"QueueDoesNotExist", "`quern queue list` shows the queues, `quern queue create NAME` makes one"},
    {"InvalidClientTokenId", wrong_key},
    {"UnrecognizedClientException", wrong_key},
    {"SignatureDoesNotMatch", wrong_key},
    {"InvalidAccessKeyId", wrong_key},
    {"ExpiredToken", "the temporary keys have expired: take new ones"},
    {"AccessDenied", "the policy of this key or of the queue does not allow it"},
    {"AccessDeniedException", "the policy of this key or of the queue does not allow it"},
};

struct option_name {
    std::string_view in_library, here;
};

constexpr option_name option_names[] = {
    {"to_url", "--to"},
    {"poison_url", "--poison-queue"},
    {"delay_base", "--delay-base"},
    {"delay_max", "--delay-max"},
    {"max_attempts", "--max-attempts"},
    {"stop_on_return", "--stop-on-return"},
    {"stop_on_failure", "--stop-on-failure"},
    {"ca_file", "--ca"},
    {"certificate_file", "--client-cert"},
    {"key_file", "--client-key"},
    {"bearer_file", "--bearer-file"},
    {"basic_file", "--basic-file"},
    {"token_url", "--oauth2-token-url"},
    {"client_id", "--oauth2-client-id"},
    {"secret_file", "--oauth2-secret-file"},
};

std::string advice(failure const& why, net::endpoint const& at)
{
    if (why.code == errc::connect_failed && why.message.find("proxy ") != why.message.npos)
        return "check HTTPS_PROXY and HTTP_PROXY; NO_PROXY lists what needs none";
    if (why.code == errc::connect_failed) {
        if (aws::detail::is_amazons(at.host)) return "check the network, and --region";
        return "is `quern broker` running there? check --endpoint";
    }
    if (why.code == errc::tls_failed) return "check --endpoint: " + at.origin();
    if (why.code == errc::timed_out && why.message.find("credentials") != why.message.npos)
        return "what hands them out (a credential_process, a role, SSO, the instance) does not answer";
    if (why.code == errc::timed_out || why.code == errc::connection_lost || why.code == errc::bad_reply) {
        return "is that SQS, at " + at.origin() + "? check --endpoint";
    }
    auto const known =
        std::ranges::find_if(remedies, [&](remedy const& r) { return why.service_code.ends_with(r.service_code); });
    return known == std::end(remedies) ? std::string() : std::string(known->advice);
}

spdlog::level::level_enum as_spdlog(log_level level)
{
    constexpr spdlog::level::level_enum levels[] = {
        spdlog::level::debug, spdlog::level::info, spdlog::level::warn, spdlog::level::err};
    return levels[static_cast<int>(level)];
}

} // namespace

std::string by_options_of_program(std::string text)
{
    auto const is_in_word = [&](std::size_t at) {
        return at < text.size() &&
            (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_' || text[at] == '-' ||
                text[at] == '.' || text[at] == '/');
    };
    for (auto const& [name, option] : option_names) {
        for (auto at = text.find(name); at != text.npos; at = text.find(name, at + option.size())) {
            bool const is_word = (at == 0 || !is_in_word(at - 1)) && !is_in_word(at + name.size());
            if (is_word) text.replace(at, name.size(), option);
        }
    }
    return text;
}

std::string explain(failure const& why, net::endpoint const& at, std::string const& region)
{
    auto text = describe(why);
    bool const is_missing =
        why.service_code.ends_with("NonExistentQueue") || why.service_code.ends_with("QueueDoesNotExist");
    if (is_missing && !region.empty())
        text += "; asked in " + region + ", each region has queues of its own: --region";
    if (auto const what_to_do = advice(why, at); !what_to_do.empty()) text += "; " + what_to_do;
    return text;
}

bool blames_usage(failure const& why)
{
    return why.code == errc::invalid_option || (why.code == errc::no_credentials && !why.retryable);
}

exit_code complain(std::string_view what, exit_code code)
{
    say(stderr, "quern: {}\n", what);
    return code;
}

exit_code complain(failure const& why)
{
    auto const of_system = why.code.category() == boost::system::system_category(); // the message has the path alone
    return complain(printable(of_system ? describe(why) : why.message), blames_usage(why) ? usage : failed);
}

log_sink to_stderr()
{
    return [](log_level level, log_text const& line) {
        log_subject_now const about(line.about);
        log_line(level, line);
    };
}

void log_line(log_level level, std::string_view text)
{
    spdlog::log(as_spdlog(level), "{}", text);
}

bool logs(log_level level)
{
    return spdlog::should_log(as_spdlog(level));
}

void start_log(std::string const& level, std::string const& format)
{
    spdlog::set_default_logger(spdlog::stderr_color_mt("quern"));
    spdlog::set_formatter(format == "text" ? text_log_format() : json_log_format(format));
    spdlog::set_level(spdlog::level::from_str(level));
}

} // namespace quern::app
