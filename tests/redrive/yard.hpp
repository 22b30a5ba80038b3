#pragma once

#include <quern/consumer/consumer.hpp>
#include <quern/redrive/redriver.hpp>
#include <quern/sim/local_api.hpp>
#include <quern/sim/virtual_clock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/test/unit_test.hpp>

#include <concepts>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::test {

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// A broker whose operations may fail, before they are carried out or after.
class faulty_api : public sqs::forwarding_api<faulty_api> {
public:
    using fault = std::function<std::optional<failure>(std::string_view operation, std::string_view queue)>;

    explicit faulty_api(sqs::api& real) : real_(real) {}

    template <class Request>
    sqs::answer<typename Request::response> carry(Request r)
    {
        std::string queue;
        if constexpr (requires { r.queue_url; }) queue = r.queue_url.substr(r.queue_url.rfind('/') + 1);
        ++calls[std::string(Request::operation)];
        if (auto f = before(Request::operation, queue)) co_return *f;
        if constexpr (std::same_as<Request, sqs::delete_message_batch_request>) {
            if (forgets_deletes()) {
                sqs::delete_message_batch_response out;
                for (auto const& one : r.entries)
                    out.successful.push_back({one.id});
                co_return out;
            }
        }
        if constexpr (std::same_as<Request, sqs::change_message_visibility_batch_request>) {
            if (forgets_changes) {
                sqs::change_message_visibility_batch_response out;
                for (auto const& one : r.entries)
                    out.successful.push_back({one.id});
                co_return out;
            }
        }
        auto said = co_await sqs::perform(real_, std::move(r));
        if (auto f = after(Request::operation, queue)) co_return *f;
        if constexpr (std::same_as<Request, sqs::list_dead_letter_source_queues_request>) {
            if (said) page(*said);
        }
        co_return said;
    }

    std::function<bool()> forgets_deletes = [] { return false; }; ///< they are confirmed and not carried out
    bool forgets_changes = false;                                 ///< of visibility, likewise
    fault before = [](auto, auto) { return std::optional<failure>(); }, after = before;
    std::function<void(sqs::queue_urls_response&)> page = [](auto&) {}; ///< may change a page of the sources
    std::map<std::string, int> calls;

private:
    sqs::api& real_;
};

/// A fault of the calls of that operation for which `when` is true. They may succeed later.
inline faulty_api::fault fails(
    std::string operation, errc code, std::function<bool()> when = [] { return true; })
{
    return [=](std::string_view called, std::string_view) {
        std::optional<failure> out;
        if (called == operation && when()) out = failure(code, "as the test wants it", true);
        return out;
    };
}

/// Queues with a dead-letter queue, and all the time in the world.
struct yard {
    sim::virtual_clock time;
    broker::engine engine{broker::engine_options{.seed = 1}};
    asio::io_context io; // last: what it destroys still refers to the clock
    sim::local_api local{engine, time, io.get_executor()};
    faulty_api api{local};
    std::string dead, orders, poison;
    std::list<redrive::redriver> drivers;
    std::vector<redrive::report> reports;
    std::vector<std::string> refused;
    redrive::options options;
    int sent = 0;

    explicit yard(std::string const& suffix = "")
        : dead(create("dead" + suffix)), orders(source("orders" + suffix)), poison(create("poison" + suffix))
    {
        options.dlq_url = dead;
        options.plan.delay_base = 0s;
        options.speed.depth_lag = 0s;
        options.log = nullptr;
        options.time = &time;
        options.seed = 7;
    }

    std::string create(std::string const& name, sqs::string_map attributes = {})
    {
        sqs::create_queue_request wanted(name);
        wanted.attributes = std::move(attributes);
        if (name.ends_with(".fifo")) wanted.attributes["FifoQueue"] = "true";
        return engine.create_queue(wanted, time.wall()).value().queue_url;
    }

    /// A queue whose messages are dead after one receive.
    std::string source(std::string const& name)
    {
        auto const target = name.ends_with(".fifo") ? "dead.fifo" : "dead";
        return create(name,
            {{"RedrivePolicy",
                std::string(R"({"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:)") + target +
                    R"(","maxReceiveCount":1})"}});
    }

    sqs::send_message_request letter(std::string const& url, std::string body)
    {
        sqs::send_message_request out(url, std::move(body));
        if (!url.ends_with(".fifo")) return out;
        out.group_id = "g" + std::to_string(sent % 3);
        out.deduplication_id = "d" + std::to_string(sent);
        return out;
    }

    void send(std::string const& url, sqs::send_message_request what)
    {
        what.queue_url = url;
        ++sent;
        engine.send_message(std::move(what), time.wall()).value();
    }

    /// Receives until there is nothing any more: twice moves a message to the dead-letter queue.
    void fail_all(std::string const& url)
    {
        sqs::receive_message_request ask(url);
        ask.visibility_timeout = 0s;
        ask.wait_time = 0s;
        while (count(url) != 0)
            engine.receive_message(ask, time.wall()).value();
    }

    /// "m0", "m1", … die in the queue.
    void kill(std::string const& url, int how_many)
    {
        for (int i = 0; i < how_many; ++i)
            send(url, letter(url, "m" + std::to_string(sent)));
        fail_all(url);
    }
    void kill(int how_many) { kill(orders, how_many); }

    /// Two of one group are dead; the one behind is not chosen.
    void send_a_head_and_one_that_stays()
    {
        auto first = letter(dead, "first"), second = letter(dead, "second");
        second.group_id = first.group_id;
        second.deduplication_id = "other";
        second.attributes["stays"] = {"String", "yes"};
        send(dead, first);
        send(dead, second);
        options.which.where.push_back(redrive::parse_where("attr.stays != \"yes\"").value());
    }

    int count(std::string const& url, char const* which = "ApproximateNumberOfMessages")
    {
        sqs::get_queue_attributes_request ask(url);
        return std::stoi(engine.get_queue_attributes(ask, time.wall()).value().attributes.at(which));
    }
    int in_flight(std::string const& url) { return count(url, "ApproximateNumberOfMessagesNotVisible"); }
    int delayed(std::string const& url) { return count(url, "ApproximateNumberOfMessagesDelayed"); }
    int all(std::string const& url) { return count(url) + in_flight(url) + delayed(url); }

    /// Messages of a queue, in the order in which it gives them out; it is empty then.
    struct seen {
        std::string body;
        sqs::attribute_map attributes;
        std::map<std::string, std::string> system;
    };
    std::vector<seen> take(std::string const& url)
    {
        std::vector<seen> out;
        sqs::receive_message_request ask(url);
        ask.visibility_timeout = 600s;
        ask.wait_time = 0s;
        ask.system_attribute_names = {"All"};
        ask.attribute_names = {"All"};
        while (count(url) != 0) {
            auto const got = engine.receive_message(ask, time.wall()).value();
            if (got.answer.messages.empty()) break;
            for (auto const& m : got.answer.messages) {
                auto& one = out.emplace_back();
                one.body = m.body;
                for (auto const& a : m.attributes)
                    one.attributes[std::string(a.name)] = {std::string(a.data_type), std::string(a.value)};
                for (auto const& a : m.system_attributes)
                    one.system[std::string(a.name)] = a.value;
                sqs::delete_message_request gone(url, std::string(m.receipt_handle));
                engine.delete_message(gone, time.wall()).value();
            }
        }
        return out;
    }
    std::map<std::string, int> bodies(std::string const& url)
    {
        std::map<std::string, int> out;
        for (auto const& m : take(url))
            ++out[m.body];
        return out;
    }

    redrive::redriver& start()
    {
        auto& driver = drivers.emplace_back(io.get_executor(), api, options);
        asio::co_spawn(io, driver.run(), [this](std::exception_ptr bug, result<redrive::report> const& end) {
            if (bug) std::rethrow_exception(bug);
            if (end)
                reports.push_back(*end);
            else
                refused.push_back(describe(end.error()));
        });
        return driver;
    }

    bool until(std::chrono::milliseconds limit, std::function<bool()> done)
    {
        return time.run_until_done(io, limit, done);
    }

    /// The report of a run from its beginning to its end.
    redrive::report run(std::chrono::milliseconds limit = 1h)
    {
        start();
        return finish(limit);
    }
    redrive::report finish(std::chrono::milliseconds limit = 1h, std::size_t runs = 1)
    {
        auto const wanted = runs;
        BOOST_REQUIRE(until(limit, [&] { return reports.size() + refused.size() >= wanted; }));
        BOOST_REQUIRE(refused.empty());
        BOOST_TEST(reports.back().drain.clean());
        return reports.back();
    }

    ~yard()
    {
        for (auto& d : drivers)
            d.stop();
        until(2min, [this] { return reports.size() + refused.size() >= drivers.size(); });
        drivers.clear();
        time.run_for(io, 0s);
    }
};

struct fifo_yard : yard {
    fifo_yard() : yard(".fifo") {}
};

} // namespace quern::test
