// Quern's stores of keys, and its handlers that must not repeat, on any DynamoDB: the checks of docs/interop.md, one
// JSON line each.
//
// usage: interop_store checks memory|TABLE
//        interop_store handle TABLE FLAVOUR PREFIX BODY [hold]     as the programs of Powertools beside it
#include <quern/broker/engine.hpp>
#include <quern/consumer/consumer.hpp>
#include <quern/core/detail/text/json_writer.hpp>
#include <quern/idempotency/dynamodb_store.hpp>
#include <quern/idempotency/memory_store.hpp>
#include <quern/idempotency/once.hpp>
#include <quern/sim/local_api.hpp>
#include <quern/sqs/types.hpp>

#include <support/run.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <thread>

namespace {

namespace asio = boost::asio;
namespace services = quern::services;
using namespace quern::idempotency;
using namespace std::chrono_literals;
using quern::outcome;
using quern::wall_time;
using quern::test::run;

void print(std::initializer_list<std::pair<char const*, std::string>> members)
{
    std::string line;
    quern::detail::text::json_writer json(line);
    json.begin_object();
    for (auto const& [name, value] : members)
        json.member(name, value);
    json.end_object();
    std::cout << line << std::endl;
}

void must(bool is_so, char const* what)
{
    if (!is_so) throw std::runtime_error(what);
}

std::shared_ptr<dynamodb_store> table(asio::io_context& io, std::string name, flavour as = flavour::quern)
{
    dynamodb_store_options options;
    options.table = std::move(name);
    options.as = as;
    return std::make_shared<dynamodb_store>(std::make_shared<services::dynamodb>(io.get_executor()), options);
}

wall_time real_now()
{
    return quern::real_clock().wall();
}

struct checks {
    asio::io_context io;
    std::string const place;
    std::shared_ptr<store> const shared = std::make_shared<memory_store>();
    std::shared_ptr<store> const it = open(io);
    std::string const run_name = new_owner(); // keys of another run do not matter

    explicit checks(std::string where) : place(std::move(where)) {}

    std::shared_ptr<store> open(asio::io_context& on) const
    {
        if (place == "memory") return shared;
        return table(on, place);
    }

    std::string key(char const* name) const { return run_name + '#' + name; }

    claim_request claim_of(std::string owner, char const* name, std::chrono::seconds lasts = 30s) const
    {
        claim_request out;
        out.key = key(name);
        out.now = real_now();
        out.row.owner = std::move(owner);
        out.row.expires = std::chrono::ceil<std::chrono::seconds>(out.now + 1h);
        out.row.in_progress_until = out.now + lasts;
        return out;
    }

    static record done_by(std::string owner, std::chrono::seconds life = 1h)
    {
        record out;
        out.is = record::state::completed;
        out.owner = std::move(owner);
        out.expires = std::chrono::ceil<std::chrono::seconds>(real_now() + life);
        out.result = R"({"n":1})";
        out.validation = "v1";
        return out;
    }

    template <class T>
    T done(asio::awaitable<quern::result<T>> work)
    {
        auto said = run(io, std::move(work));
        if (!said) throw std::runtime_error(describe(said.error()));
        return std::move(*said);
    }

    void claim()
    {
        must(done(it->claim(claim_of("one", "claim"))).applied, "the first claim is refused");
        auto const met = done(it->claim(claim_of("two", "claim")));
        must(!met.applied, "the second claim is let through");
        must(met.found && met.found->owner == "one", "the refusal does not show the row");
        must(met.found->is == record::state::in_progress, "its status");
        must(done(it->claim(claim_of("two", "claim other"))).applied, "another key is refused");
    }

    void complete()
    {
        done(it->claim(claim_of("one", "complete")));
        must(done(it->complete(key("complete"), done_by("one"))).applied, "the completion is refused");
        auto const met = done(it->claim(claim_of("two", "complete")));
        must(!met.applied && met.found, "a completed key can be claimed");
        must(met.found->result == R"({"n":1})", "the result is lost");
        auto const is = [&](char const* validation) {
            return judge_claim(&*met.found, {"two", validation}, real_now()).is;
        };
        must(is("v1") == claim_kind::completed, "the same payload is no duplicate");
        must(is("v2") == claim_kind::mismatch, "another payload is no mismatch");
        auto const again = done(it->complete(key("complete"), done_by("one")));
        must(!again.applied && again.found && again.found->owner == "one",
            "a repeated completion does not meet itself");
    }

    void extend()
    {
        done(it->claim(claim_of("one", "extend", -1s)));
        must(done(it->extend(key("extend"), claim_of("one", "extend").row)).applied, "the extension is refused");
        must(!done(it->claim(claim_of("two", "extend"))).applied, "the extension does not count");
    }

    void abandon()
    {
        done(it->claim(claim_of("one", "abandon")));
        must(done(it->abandon(key("abandon"), "one")).applied, "it is refused");
        auto const again = done(it->abandon(key("abandon"), "one"));
        must(!again.applied && !again.found, "there is a row although it was taken away");
        must(done(it->claim(claim_of("two", "abandon"))).applied, "the key is not free");
    }

    void expiry()
    {
        done(it->claim(claim_of("one", "expiry", -1s)));
        must(done(it->claim(claim_of("two", "expiry"))).applied, "a claim that is over stands");
        must(done(it->complete(key("expiry"), done_by("two", -10s))).applied, "the completion is refused");
        must(done(it->claim(claim_of("three", "expiry"))).applied, "a completion that has expired stands");
    }

    void fence()
    {
        done(it->claim(claim_of("one", "fence", -1s)));
        done(it->claim(claim_of("two", "fence")));
        auto const refused = [](store_answer const& said) {
            return !said.applied && said.found && said.found->owner == "two";
        };
        must(refused(done(it->extend(key("fence"), claim_of("one", "fence").row))), "a late extension");
        must(refused(done(it->complete(key("fence"), done_by("one")))), "a late completion");
        must(refused(done(it->abandon(key("fence"), "one"))), "a late end");
    }

    /// Writes that come together, which share a request where there are such: each has an answer of its own.
    void together()
    {
        constexpr int count = 50;
        std::vector<std::string> names;
        for (int i = 0; i < count; ++i)
            names.push_back("together " + std::to_string(i));
        for (int i = 0; i < count; i += 5)
            done(it->claim(claim_of("other", names[i].c_str())));
        auto const applied = [&](std::function<store::answer<store_answer>(int)> const& write) {
            std::vector<int> out(count, -1);
            for (int i = 0; i < count; ++i) {
                asio::co_spawn(io, write(i), [&out, i](std::exception_ptr, quern::result<store_answer> const& said) {
                    if (said) out[i] = said->applied ? 1 : 0;
                });
            }
            io.restart();
            io.run();
            return out;
        };
        auto const claimed = applied([&](int i) { return it->claim(claim_of("us", names[i].c_str())); });
        auto const completed = applied([&](int i) { return it->complete(key(names[i].c_str()), done_by("us")); });
        for (int i = 0; i < count; ++i) {
            must(claimed[i] == (i % 5 == 0 ? 0 : 1), "a claim has the answer of another");
            must(completed[i] == claimed[i], "a completion has the answer of another");
        }
    }

    /// Eight claimants at once, each with a client and a thread of its own.
    void exclusive()
    {
        constexpr int claimants = 8;
        int const rounds = place == "memory" ? 2'000 : 25;
        std::vector<std::unique_ptr<asio::io_context>> contexts;
        std::vector<std::shared_ptr<store>> stores;
        for (int i = 0; i < claimants; ++i) {
            contexts.push_back(std::make_unique<asio::io_context>(1));
            stores.push_back(open(*contexts.back()));
        }
        for (int round = 0; round < rounds; ++round) {
            auto const name = "exclusive " + std::to_string(round);
            std::atomic<int> at_start{0}, winners{0}, failures{0};
            asio::thread_pool threads(claimants);
            for (int i = 0; i < claimants; ++i) {
                asio::post(threads, [&, i] {
                    auto wish = claim_of(std::to_string(i), name.c_str());
                    for (++at_start; at_start != claimants;) // together
                        std::this_thread::yield();
                    auto const said = run(*contexts[i], stores[i]->claim(std::move(wish)));
                    if (!said)
                        ++failures;
                    else if (said->applied)
                        ++winners;
                });
            }
            threads.join();
            must(failures == 0, "a claim fails");
            must(winners == 1, ("of eight claimants " + std::to_string(winners) + " have the key").c_str());
        }
    }

    int all()
    {
        std::pair<char const*, void (checks::*)()> const list[] = {{"claim", &checks::claim},
            {"complete", &checks::complete}, {"extend", &checks::extend}, {"abandon", &checks::abandon},
            {"expiry", &checks::expiry}, {"fence", &checks::fence}, {"together", &checks::together},
            {"exclusive", &checks::exclusive}};
        for (auto const& [name, check] : list) {
            std::string why;
            try {
                (this->*check)();
            } catch (std::exception const& e) {
                why = e.what();
            }
            std::string line;
            quern::detail::text::json_writer json(line);
            json.begin_object().member("check", name).member("ok", why.empty()).member("why", why);
            json.end_object();
            std::cout << line << std::endl;
        }
        return 0;
    }
};

/// One message, through a consumer and its lease.
int handle(
    std::shared_ptr<store> rows, asio::io_context& io, flavour as, std::string prefix, std::string body, bool hold)
{
    quern::broker::engine engine{quern::broker::engine_options()};
    quern::sim::local_api api(engine, quern::real_clock(), io.get_executor());
    auto const url = engine.create_queue(quern::sqs::create_queue_request("orders"), real_now()).value().queue_url;
    engine.send_message(quern::sqs::send_message_request(url, std::move(body)), real_now()).value();

    std::string said;
    std::string result;
    once_options how;
    how.prefix = std::move(prefix);
    how.as = as;
    how.key = key_source::parse("body:/id").value();
    how.validation = key_source::parse("body:/amount").value();
    how.waiting.longest = 0ms;
    how.on_duplicate = [&](quern::delivery const&, std::optional<std::string> const& stored) {
        said = "stored";
        result = stored.value_or("");
    };
    how.on_mismatch = [&](quern::delivery const&) {
        said = "mismatch";
        return quern::ack();
    };
    auto const guard = std::make_shared<once>(std::move(rows), how);
    auto const work = guard->around([&](quern::delivery&, receipt& left) -> asio::awaitable<outcome> {
        said = "ran";
        left.result = result = R"({"did": "o-1", "by": "quern"})";
        if (hold) print({{"said", "holding"}});
        std::string line;
        if (hold) std::getline(std::cin, line);
        co_return quern::ack();
    });
    quern::consumer_options options;
    options.wait_time = 1s; // which the drain has to wait for
    std::optional<quern::consumer> orders;
    orders.emplace(
        io.get_executor(), api, url,
        [&](quern::delivery& d) -> asio::awaitable<outcome> {
            auto const end = co_await work(d);
            if (said.empty()) said = guard->counters().released == 1 ? "in progress" : "the store is down";
            if (said == "ran" && guard->counters().completed == 0) said = "fenced";
            orders->stop();
            co_return end;
        },
        options);
    asio::co_spawn(
        io, orders->run(), [&](std::exception_ptr, auto const&) { io.stop(); }); // DynamoDB's connections stay
    io.run();
    print({{"said", said}, {"result", result}});
    return 0;
}

} // namespace

int main(int argc, char* argv[])
{
    std::vector<std::string> const words(argv + 1, argv + argc);
    if (words.size() == 2 && words[0] == "checks") return checks(words[1]).all();
    if (words.size() < 5 || words[0] != "handle") return 2;
    asio::io_context io{1};
    auto const as = flavour_named(words[2]).value();
    return handle(table(io, words[1], as), io, as, words[3], words[4], words.size() > 5);
}
