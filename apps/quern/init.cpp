#include "common/command_line.hpp"
#include "common/commands.hpp"
#include "common/complaint.hpp"
#include "common/standard_streams.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <string>
#include <string_view>
#include <unistd.h>

namespace quern::app {
namespace {

// What a "#" stands before is the default, or an example. tests/apps/init.py has each of them read.
constexpr std::string_view relay_file =
    R"(# For `quern relay --config FILE`; with --check it says whether all of it is in order, and what it names too.
# A value with {{...}} is filled from each message: {{body:/kind}} {{attr.tenant}} {{id}}

[relay]
queue = "orders"                        # a name or a URL
url = "http://127.0.0.1:8080/orders"    # gets a request for each message
#routes = ["mails=http://127.0.0.1:8080/mails"]  # other queues, and their URLs
#method = "POST"
#format = "raw"                         # sns, sns-message, cloudevents, cloudevents-structured, lambda: others' bodies
#header_sets = "quern"                  # others' headers: carrier, sqsd
#content_type = "application/json"
#concurrency = 50                       # requests at once
#timeout = "30s"                        # of a request, to the last byte of the answer
#connect_timeout = "5s"
#max_response = "1MiB"
#success = "2xx"                        # statuses that delete the message
#retry = "408,425,429,5xx"              # a retry may help
#reject = "400"                         # never: with --poison-queue, straight to that queue
#unavailable = "401,403,407,410,502-504"  # the service is down: messages wait, and do not die of it
#retry_after_max = "12h"                # the longest that an answer may ask for
#dependency = "{{body:/shop}}"          # messages with one value stand and fall together
#batch = 10                             # messages in a request, of the format lambda alone
#batch_window = "200ms"
#batch_bytes = "4MiB"
#unix_socket = "/run/shop.sock"
#http_proxy = "http://proxy.example:3128"
#bearer_file = "/etc/quern/token"       # read again when it changes, as all files of secrets
#basic_file = "/etc/quern/password"     # user:password
#carrier_time = "s"
#stats = "2m"                           # a line in the log, so often

#keep_alive = "4s"                      # less than the service keeps a connection

[relay.headers]
#X-Tenant = "{{attr.tenant}}"

[relay.tls]
#ca = "/etc/quern/ca.pem"               # default: what the system trusts
#cert = "/etc/quern/client.pem"
#key = "/etc/quern/client-key.pem"
#min = "1.3"
#insecure = true                        # believes anybody: for tests

[relay.sign]                            # signatures by Standard Webhooks
#scheme = "standard-webhooks"
#secret_files = ["/etc/quern/secret"]
#ed25519_files = ["/etc/quern/key.pem"]

[relay.oauth2]                          # a token for Authorization: Bearer, by client credentials
#token_url = "https://id.example.com/oauth2/token"
#client_id = "relay"
#secret_file = "/etc/quern/client-secret" # or the variable QUERN_OAUTH2_SECRET
#scope = "orders:write"
#audience = "https://shop.example.com"
#secret_in_body = true                  # else Authorization: Basic

[relay.health]                          # a hint when the service is down
#url = "http://127.0.0.1:8080/health"
#interval = "10s"
#timeout = "2s"
#down_after = 3
#up_after = 2
#wait = "5m"                            # before the first receive

[relay.reply]
#queue = "answers"                      # what the service answers goes there

[relay.breaker]
#share = 0.09                           # of the usual requests, while an outage is suspected

#[[relay.rule]]                         # the first one that matches wins, before success and the others
#status = "422"
#do = "reject"                          # ack, retry, reject, unavailable, halt
#reason = "no order"

#[[relay.rule]]
#status = "409"
#do = "retry"
#backoff = "linear,10s,cap=5m"          # exponential,1s,factor=2,cap=15m,jitter=half; fibonacci,1s; 5s,30s,2m
#tries = 5                              # then it is rejected
)";

constexpr std::string_view queues_file =
    R"(# For `quern broker --queues FILE`: they are there before the first request is taken.

[queues.orders]
VisibilityTimeout = 60                  # attributes, by the names that CreateQueue has for them
dead_letter_queue = "orders-dead"       # a queue of this file, or an ARN
max_receive_count = 3                   # 10 unless said
#tags = { team = "shop" }
#messages = ["a body", { body = "another", delay = 5, attributes = { kind = "new", size = 7 } }]

[queues.orders-dead]
MessageRetentionPeriod = 1_209_600      # 14 days

#[queues."steps.fifo"]                  # the name says that it is a FIFO queue
#ContentBasedDeduplication = true
#messages = [{ body = "first", group = "customer-1" }]
)";

struct init_options {
    std::string what, file;
};

int run_init(init_options const& o)
{
    auto const name = o.file.empty() ? o.what + ".toml" : o.file;
    auto const text = o.what == "relay" ? relay_file : queues_file;
    if (name == "-") {
        say(stdout, "{}", text);
        return ok;
    }
    int const to = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (to < 0 && errno == EEXIST)
        return complain(name + " is there already; give another name, or - to see the text");
    bool const written = to >= 0 && ::write(to, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    auto const why = errno;
    if (to >= 0) ::close(to);
    if (!written) {
        if (to >= 0) ::unlink(name.c_str()); // a torn one would be in the way of the next try
        return complain(fmt::format("{}: {}", name, std::strerror(why)));
    }
    say(stderr, "quern: wrote {}\n", name);
    return ok;
}

} // namespace

void add_init(command& app, command_line& line)
{
    auto const o = std::make_shared<init_options>();
    auto* const command = app.add_subcommand("init", "Write a file of settings to begin with");
    command->add({
        {"WHAT", o->what, "relay: settings for a relay; queues: queues for a broker", required(),
            one_of_told({"relay", "queues"})},
        {"FILE", o->file, "Its name; -: standard output; default: relay.toml or queues.toml"},
    });
    command->footer("Every setting stands in it, with what it is for. A file that is there is left alone.");
    when_named(*command, line, [o] { return run_init(*o); });
}

} // namespace quern::app
