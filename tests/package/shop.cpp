// A program as a stranger writes it from the guide: two queues, typed handlers, an observer, limits that are turned,
// and an end that is told. It runs in virtual time, without a network.

#include <quern/consumer/json.hpp>
#include <quern/quern.hpp>
#include <quern/sim/local_api.hpp>
#include <quern/sim/virtual_clock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

struct order {
    std::string item;
    std::int64_t count = 0;
};

order decode(quern::json_document& document)
{
    order out;
    out.item = quern::json_member<std::string>(document, "item");
    out.count = quern::json_member<std::int64_t>(document, "count");
    return out;
}

struct watch : quern::observer {
    int settled_messages = 0, turns = 0, drains = 0;

    void settled(quern::observed_message const&, quern::message_end how, std::chrono::seconds) override
    {
        settled_messages += how == quern::message_end::deleted;
    }
    void limits_set(quern::consumer_limits const& now) override { turns += now.handler_concurrency == 2u; }
    void drain_ended(quern::drain_report const& report) override { drains += report.clean(); }
};

struct shop {
    quern::clock& time;
    std::int64_t sold = 0;
    int mails = 0, at_work = 0, most_at_work = 0;

    asio::awaitable<void> sell(order& wanted, quern::delivery&)
    {
        most_at_work = std::max(most_at_work, ++at_work);
        auto const timer = time.make_timer(co_await asio::this_coro::executor);
        co_await timer->wait_until(time.now() + 1s);
        --at_work;
        sold += wanted.count;
    }
};

struct end {
    std::optional<quern::result<quern::drain_report>> of_run;
    std::optional<std::string> refused, explained;
};

asio::awaitable<void> live(quern::consumer_group& all, quern::consumer& orders, end& how)
{
    quern::consumer_limits wrong;
    wrong.max_polls = 0;
    auto const no = co_await orders.set_limits(wrong);
    how.refused = no ? "" : describe(no.error());

    auto const two = [](quern::consumer_limits& l) { l.handler_concurrency = 2; };
    auto const yes = co_await orders.set_limits(two);
    if (!yes) co_return;

    auto const said = co_await all.run();
    how.of_run = said;
    auto const explained = co_await orders.explain();
    how.explained = to_string(explained);
}

} // namespace

int main()
{
    quern::sim::virtual_clock time;
    quern::broker::engine broker;
    asio::io_context io;
    quern::sim::local_api sqs(broker, time, io.get_executor());
    auto const queue = [&](char const* name) {
        return broker.create_queue(quern::sqs::create_queue_request(name), time.wall()).value().queue_url;
    };
    auto const orders_url = queue("orders"), mails_url = queue("mails");
    for (int i = 0; i < 20; ++i) {
        quern::sqs::send_message_request one(orders_url, R"({"item":"rolls","count":3})");
        broker.send_message(one, time.wall()).value();
        quern::sqs::send_message_request other(mails_url, "hello");
        broker.send_message(other, time.wall()).value();
    }

    shop s{time};
    auto const seen = std::make_shared<watch>();
    quern::consumer_options options;
    options.time = &time;
    options.seed = 1;
    options.observer = seen;
    quern::consumer_group_options together;
    together.max_in_flight = 50;
    together.time = &time;
    quern::consumer_group all(io.get_executor(), together);
    auto& orders = all.add(sqs, orders_url,
        quern::json<order>(decode, [&s](order& wanted, quern::delivery& d) { return s.sell(wanted, d); }), options,
        3);
    all.add(
        sqs, mails_url, [&s](quern::delivery&) { ++s.mails; }, options);

    end how;
    asio::co_spawn(io, live(all, orders, how), [](std::exception_ptr failed) {
        if (failed) std::rethrow_exception(failed);
    });
    bool const handled = time.run_until_done(io, 1h, [&] { return s.sold == 60 && s.mails == 20; });
    all.stop();
    time.run_until_done(io, 1h, [&] { return how.explained.has_value(); });

    bool const clean = how.of_run && how.of_run->has_value() && how.of_run->value().clean();
    std::printf("%s; refused: %s; %s\n", handled ? "all handled" : "not all handled",
        how.refused.value_or("nothing").c_str(), how.explained.value_or("no explanation").c_str());
    bool const told = seen->settled_messages == 40 && seen->turns != 0 && seen->drains == 2;
    bool const named = how.refused && how.refused->find("max_polls must be from 1 to 1000") != std::string::npos;
    return handled && clean && told && named && s.most_at_work == 2 ? 0 : 1;
}
