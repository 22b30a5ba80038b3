#include "broker/faults_file.hpp"
#include "broker/queue_store.hpp"
#include "broker/queues_file.hpp"
#include "common/admin_port.hpp"
#include "common/command_line.hpp"
#include "common/commands.hpp"
#include "common/complaint.hpp"
#include "common/service_manager.hpp"
#include "common/standard_streams.hpp"

#include <quern/broker/detail/giving_back.hpp>
#include <quern/broker/door.hpp>
#include <quern/broker/server.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <sys/resource.h>

namespace quern::app {
namespace {

namespace asio = boost::asio;

struct broker_options {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;
    bool no_auth = false;
    std::string account = "000000000000";
    bool relaxed = false, admin = false;
    std::chrono::milliseconds noise_delay{0};
    std::vector<std::string> hosts, cors, keys;
    std::string faults, queues, data;
    std::string tls_certificate, tls_key;
    admin_options page;
};

struct key_with_account {
    aws::credentials who;
    std::string account; ///< empty: that of --account
};

/// "ID:SECRET" or "ID:SECRET:ACCOUNT".
result<key_with_account> key_from(std::string const& text)
{
    auto const first = text.find(':');
    auto const second = first == text.npos ? text.npos : text.find(':', first + 1);
    key_with_account out;
    if (first != text.npos) {
        out.who.access_key_id = text.substr(0, first);
        out.who.secret_access_key = text.substr(first + 1, second == text.npos ? second : second - first - 1);
    }
    if (second != text.npos) out.account = text.substr(second + 1);
    if (out.who.access_key_id.empty() || out.who.secret_access_key.empty())
        return failure(errc::invalid_option, "--key: must be ID:SECRET or ID:SECRET:ACCOUNT");
    return out;
}

result<broker::server_options> server_options_from(broker_options const& o)
{
    broker::server_options out;
    out.host = o.host;
    out.port = o.port;
    out.hosts = o.hosts;
    out.cors = o.cors;
    out.admin = o.admin;
    out.check_signatures = !o.no_auth;
    out.tls_certificate = o.tls_certificate;
    out.tls_key = o.tls_key;
    out.access_log = [](broker::access_record const& r) {
        if (!logs(log_level::debug)) return;
        log_line(log_level::debug,
            fmt::format("{} {} {} {} {:.1f} ms", r.peer, r.operation.empty() ? "-" : r.operation, r.status,
                r.error_code, std::chrono::duration<double, std::milli>(r.took).count()));
    };
    auto keys = local_keys(aws::process_environment);
    if (!keys) return keys.error();
    out.keys = {std::move(*keys)};
    for (auto const& text : o.keys) {
        auto key = key_from(text);
        if (!key) return key.error();
        if (!key->account.empty()) out.accounts[key->who.access_key_id] = key->account;
        out.keys.push_back(std::move(key->who));
    }
    if (auto const bad = out.validate()) return *bad;
    return out;
}

/// Stops the server at the first signal, and cuts it short at the second.
class stopper {
public:
    stopper(asio::io_context& io, broker::server& s)
        : io_(io), server_(s), manager_(io.get_executor()), signals_(io, SIGINT, SIGTERM)
    {
        wait();
        manager_.ready("listening on " + s.url());
    }

private:
    void wait()
    {
        signals_.async_wait([this](boost::system::error_code ec, int) {
            if (ec) return;
            if (std::exchange(stopping_, true)) return io_.stop();
            manager_.stopping();
            asio::co_spawn(io_, server_.stop(), [this](std::exception_ptr bug) {
                if (bug) std::rethrow_exception(bug);
                io_.stop();
            });
            wait();
        });
    }

    asio::io_context& io_;
    broker::server& server_;
    service_manager manager_;
    asio::signal_set signals_;
    bool stopping_ = false;
};

/// The queues to begin with: those that were kept, those of a file.
result<void> fill(broker::server& server, broker_options const& o, queue_store* store)
{
    auto& queues = server.queues();
    if (store) {
        auto const kept = queues.keep_in(*store, server.now());
        if (!kept) return kept.error();
    }
    if (!o.queues.empty()) {
        auto const made = load_queues(o.queues, queues, server.now(), to_stderr());
        if (!made) return made.error(); // nothing of it is kept
    }
    return queues.save();
}

/// Clients and the admin port want more descriptors than the usual 1,024: without any a server can only wait, and not
/// choose whom to cut.
void raise_descriptors()
{
    rlimit all{};
    if (::getrlimit(RLIMIT_NOFILE, &all) != 0 || all.rlim_cur >= 4'096) return;
    all.rlim_cur = std::min<rlim_t>(4'096, all.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &all);
}

/// The door that --admin-port asks for; null: none is wanted.
result<std::unique_ptr<broker::door>> open_door(broker::server& server, broker_options const& o)
{
    std::unique_ptr<broker::door> out;
    if (!o.page.port) return out;
    auto web = web_options_from(o.page);
    if (!web) return web.error();
    broker::door_options options;
    options.web = std::move(*web);
    options.admin = o.admin;
    options.acted = [](std::string_view what, std::string_view arn) {
        log_line(log_level::info, fmt::format("by the admin port: {} {}", what, arn));
    };
    out = std::make_unique<broker::door>(server, std::move(options));
    if (auto const listening = listen_at(*out); !listening) return listening.error();
    return out;
}

int run_broker(broker_options const& o, std::string const& region)
{
    auto options = server_options_from(o);
    if (!options) return complain(options.error());
    broker::engine_options queues;
    queues.account_id = o.account;
    options->one_region = !region.empty();
    queues.region = region;
    if (region.empty())
        queues.region = aws::first_set(aws::process_environment, {"AWS_REGION", "AWS_DEFAULT_REGION"});
    if (queues.region.empty()) queues.region = "us-east-1";
    queues.noise_noticed_within = std::chrono::floor<std::chrono::seconds>(o.noise_delay);
    if (o.relaxed) queues.name_rest = queues.purge_rest = std::chrono::seconds(0);
    if (!o.faults.empty()) {
        auto faults = read_faults(o.faults);
        if (!faults) return complain(faults.error());
        queues.faults = std::move(*faults);
    }

    std::unique_ptr<queue_store> store; // outlives the server, whose engine tells it what changes
    if (!o.data.empty()) {
        auto opened = queue_store::open(o.data);
        if (!opened) return complain(opened.error());
        store = std::move(*opened);
    }
    raise_descriptors();
    asio::io_context io(1);
    std::optional<failure> lost;
    options->journal_failed = [&](failure const& why) {
        lost = why;
        io.stop();
    };
    auto const key = options->keys.front().access_key_id;
    broker::server server(io.get_executor(), std::move(*options), std::move(queues));
    if (auto const filled = fill(server, o, store.get()); !filled) return complain(filled.error());
    broker::detail::give_back_pages(); // a file with many messages is text and plan at once
    if (auto const listening = server.listen(); !listening) {
        return complain(listening.error().message + "; choose another --port, 0 for any that is free");
    }
    auto const door = open_door(server, o);
    if (!door) return complain(door.error());
    stopper const until_told(io, server);
    if (o.no_auth)
        log_line(log_level::info, "signatures are not checked");
    else
        log_line(log_level::info, fmt::format("signatures are checked against the access key {}", key));
    say(stdout, "listening on {}\n", server.url());
    std::fflush(stdout);
    io.run();
    if (lost) return complain(*lost);
    if (auto const kept = server.queues().save(); !kept) return complain(kept.error());
    log_line(log_level::info, "stopped");
    return ok;
}

constexpr char const* help =
    R"(Prints "listening on URL" on standard output when it is ready. SIGTERM and SIGINT stop it; a second one at
once. Queues and messages are gone then, but for --data: what was answered survives any end of the program.

The region in ARNs is the one that a request is signed for, and each has queues of its own; unsigned
requests are in AWS_REGION, or us-east-1. --region puts all queues into one.

Requests must be signed with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of the environment that the broker is
started in, or with test and test where these are not set.

--faults: members are chances from 0 to 1 a request, but for times in milliseconds and bytes a second:
  {"seed": 7,
   "everywhere": {"server_error": 0.01, "latency": 0.2, "latency_min": 5, "latency_max": 50},
   "by_operation": {"DeleteMessageBatch": {"entry_failed": 0.1}}}

--queues, with attributes as in CreateQueue:
  [queues.orders]
  VisibilityTimeout = 60
  dead_letter_queue = "orders-dead"
  max_receive_count = 3
  messages = ["hello"]
  [queues.orders-dead]

Examples:
  quern broker --port 9324
  quern broker --port 9324 --queues shop.toml --data ./queues
  quern broker --port 9324 --admin --admin-port 9090
  quern --log-level debug broker --port 0 --no-auth --faults bad-day.json
  quern broker --port 9443 --tls-certificate broker.pem --tls-key broker-key.pem
  AWS_CA_BUNDLE=ca.pem quern queue list --endpoint https://localhost:9443)";

} // namespace

void add_broker(command& app, command_line& line)
{
    auto const o = std::make_shared<broker_options>();
    auto* const command = app.add_subcommand("broker", "Serve SQS on this machine");
    command->add({
        {"--port", o->port, "Listen on this TCP port; 0: any that is free", required()},
        {"--host", o->host, "Listen on this address", shows_default()},
        {"--allow-host NAME", o->hosts,
            "Answer requests for this host name, beside those of the loopback; with another --host, beside "
            "addresses"},
        {"--no-auth", o->no_auth, "Check no signatures; default: requests must be signed, see below"},
        {"--account", o->account, "Put queues into this account, which is part of URLs and ARNs",
            check([](std::string const& text) {
                bool const good = text.size() == 12 && text.find_first_not_of("0123456789") == text.npos;
                return good ? std::string() : std::string("an account is 12 digits");
            }),
            shows_default()},
        {"--key ID:SECRET[:ACCOUNT]", o->keys,
            "Accept this access key too, for queues of the account; default: --account"},
        {"--relaxed", o->relaxed,
            "Let a queue be created again within a minute of its deletion, and purged twice in a minute; default: "
            "refuse as SQS does"},
        {"--noise-delay DURATION", o->noise_delay,
            "Fair queues: notice a noisy tenant after a time drawn from 0 to this; SQS was seen to take up to 7m; "
            "default: at once",
            duration_within(std::chrono::milliseconds(0), std::chrono::hours(1))},
        {"--admin", o->admin,
            "Show queues and messages at /_quern/queues and /_quern/messages?queue=NAME, and /metrics; with "
            "--admin-port also look at messages, send, purge and redrive from its page"},
    });
    add_admin_options(*command, o->page);
    command->add({
        {"--cors ORIGIN", o->cors, "Let pages of this origin call from a browser; *: any; default: none"},
        {"--queues FILE.toml", o->queues, "Create the queues and messages of this file at the start, see below"},
        {"--data DIR", o->data, "Keep queues and messages in this folder, over restarts; default: in memory"},
        {"--faults FILE.json", o->faults,
            "Make requests go wrong as often as this file says, see below; default: none do"},
        {"--tls-certificate FILE.pem", o->tls_certificate,
            "Serve https with this certificate and its chain; default: http", needs("--tls-key")},
        {"--tls-key FILE.pem", o->tls_key, "The certificate's private key", needs("--tls-certificate")},
    });
    command->footer(help);
    when_named(*command, line, [o, &line] { return run_broker(*o, line.where.region); });
}

} // namespace quern::app
