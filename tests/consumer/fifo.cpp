#include "consumer/mill.hpp"

#include <map>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

struct ordered : mill {
    std::vector<std::string> done; // in the order of success
    std::string poison;

    ordered()
    {
        url = create("ledger.fifo");
        poison = create("poison.fifo");
    }

    std::string create(char const* name)
    {
        sqs::create_queue_request wanted(name);
        wanted.attributes["FifoQueue"] = "true";
        return engine.create_queue(wanted, time.wall()).value().queue_url;
    }

    void send_to(char const* group, std::initializer_list<char const*> bodies)
    {
        for (auto const* body : bodies) {
            sqs::send_message_request request(url, body);
            request.group_id = group;
            request.deduplication_id = body;
            engine.send_message(std::move(request), time.wall()).value();
        }
    }

    /// Fails the first `tries` tries of that message.
    void consume_failing(std::string which, int tries)
    {
        consume([this, which, tries](delivery& d) -> asio::awaitable<outcome> {
            co_await pause(10ms);
            auto const fails = d.body() == which && d.receive_count() <= tries;
            if (fails) throw std::runtime_error("not yet");
            done.emplace_back(d.body());
            co_return ack();
        });
    }

    void dead_letters_to(std::string const& name, int max_receives)
    {
        sqs::set_queue_attributes_request wanted;
        wanted.queue_url = url;
        wanted.attributes["RedrivePolicy"] = R"({"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:)" + name +
            R"(","maxReceiveCount":)" + std::to_string(max_receives) + "}";
        engine.set_queue_attributes(wanted, time.wall()).value();
    }

    int waiting_in(std::string const& queue)
    {
        sqs::get_queue_attributes_request ask(queue);
        return std::stoi(
            engine.get_queue_attributes(ask, time.wall()).value().attributes.at("ApproximateNumberOfMessages"));
    }
};

std::vector<std::string> const in_order{"1", "2", "3", "4"};

} // namespace

BOOST_FIXTURE_TEST_SUITE(fifo, ordered)

BOOST_AUTO_TEST_CASE(a_failed_head_is_retried_before_those_behind_it)
{
    send_to("a", {"1", "2", "3", "4"});
    consume_failing("2", 3);
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_TEST(done == in_order, boost::test_tools::per_element());
    BOOST_TEST(runs.at("2") == 4);
    BOOST_TEST(runs.at("3") == 1);
}

// Those behind wait in the queue, not here: they are visible, and SQS keeps them back.
BOOST_AUTO_TEST_CASE(behind_a_head_that_waits_its_group_is_in_nobodys_hands)
{
    send_to("a", {"1", "2", "3", "4"});
    send_to("b", {"x"});
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        auto const head = d.body() == "1" && d.receive_count() == 1;
        done.emplace_back(d.body());
        co_return head ? retry_after(10min) : ack();
    });
    time.run_for(io, 1min);
    BOOST_TEST(done == (std::vector<std::string>{"1", "x"}), boost::test_tools::per_element());
    BOOST_TEST(hidden() == 1);
    BOOST_TEST(visible() == 3);
    BOOST_TEST(it->in_flight() == 0u);
    BOOST_TEST(until(15min, [this] { return empty(); }));
}

// Each try of the head would cost them a receive, and their receives are counted as well.
BOOST_AUTO_TEST_CASE(a_head_that_ends_in_the_dead_letter_queue_takes_nobody_along)
{
    auto const dead = create("dead.fifo");
    dead_letters_to("dead.fifo", 3);
    send_to("a", {"1", "2", "3", "4"});
    consume_failing("1", 100);
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_TEST(waiting_in(dead) == 1);
    BOOST_TEST(runs.at("1") == 3);
    BOOST_TEST(done == (std::vector<std::string>{"2", "3", "4"}), boost::test_tools::per_element());
    BOOST_TEST(runs.at("4") == 1);
}

// One after another: the wait for a head that never comes back cost those behind it a receive each time.
BOOST_AUTO_TEST_CASE(heads_that_end_there_one_by_one_take_nobody_along_either)
{
    auto const dead = create("dead.fifo");
    dead_letters_to("dead.fifo", 3);
    send_to("a", {"1", "2", "3", "4"});
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        if (d.body() != "4") co_return retry();
        done.emplace_back(d.body());
        co_return ack();
    });
    BOOST_TEST(until(10min, [this] { return empty(); }));
    BOOST_TEST(waiting_in(dead) == 3);
    BOOST_TEST(done == (std::vector<std::string>{"4"}), boost::test_tools::per_element());
}

// Another consumer has the head: whoever waits for it here must not wait for ever.
BOOST_AUTO_TEST_CASE(a_group_whose_head_went_elsewhere_is_given_back)
{
    send_to("a", {"1", "2", "3"});
    api.on_receive = [this] {
        return api.receives == 1 ? std::nullopt : std::optional(failure(errc::timed_out, "no answer", true));
    };
    consume([](delivery&) -> asio::awaitable<outcome> { co_return retry_after(2s); });
    time.run_for(io, 1s);
    BOOST_TEST(hidden() == 3);
    BOOST_TEST(until(7s, [this] { return visible() == 3; }));
    BOOST_TEST(it->in_flight() == 0u);
}

BOOST_AUTO_TEST_CASE(a_skipped_head_goes_to_the_poison_queue_and_the_group_goes_on)
{
    options.fifo.on_failure = group_policy::skip_head;
    options.poison_queue = poison;
    send_to("a", {"1", "2", "3", "4"});
    consume_failing("2", 100);
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(done == (std::vector<std::string>{"1", "3", "4"}), boost::test_tools::per_element());
    BOOST_TEST(waiting_in(poison) == 1);
    BOOST_TEST(it->counters().rejected == 1u);
}

BOOST_AUTO_TEST_CASE(a_parked_group_waits_and_the_others_do_not)
{
    options.fifo.on_failure = group_policy::park_group;
    options.fifo.park_for = 30min;
    send_to("a", {"1", "2"});
    send_to("b", {"x", "y"});
    consume_failing("1", 1);
    BOOST_TEST(until(29min, [this] { return done.size() == 2; }));
    BOOST_TEST(done == (std::vector<std::string>{"x", "y"}), boost::test_tools::per_element());
    BOOST_TEST(!until(28min, [this] { return done.size() > 2; }));
    BOOST_TEST(until(5min, [this] { return empty(); }));
}

BOOST_AUTO_TEST_CASE(a_halting_consumer_drains_and_leaves_the_group_as_it_was)
{
    options.fifo.on_failure = group_policy::halt;
    send_to("a", {"1", "2", "3"});
    consume_failing("1", 100);
    std::optional<drain_report> end;
    asio::co_spawn(io, it->drained(), [&](std::exception_ptr, drain_report r) { end = r; });
    BOOST_TEST(until(1min, [&] { return end.has_value(); }));
    BOOST_TEST(end->clean());
    BOOST_TEST(visible() == 3);
    BOOST_TEST(done.empty());
}

// A damaged message is a failed head: nothing behind it may pass.
BOOST_AUTO_TEST_CASE(a_damaged_message_holds_its_group_and_only_its_group)
{
    send_to("a", {"1", "2", "3", "4"});
    send_to("b", {"x"});
    bool spoilt = false;
    api.on_received = [&](sqs::receive_message_response& got) {
        for (std::size_t i = 0; i < got.messages.size() && !spoilt; ++i) {
            if (got.messages[i].body != "2") continue;
            spoilt = true;
            failure const why(errc::checksum_mismatch, "digest");
            got.damaged.push_back({i, got.messages[i], why});
            got.messages.erase(got.messages.begin() + static_cast<std::ptrdiff_t>(i));
        }
    };
    consume_failing("", 0);
    BOOST_TEST(until(1min, [this] { return empty(); }));
    std::erase(done, "x");
    BOOST_TEST(done == in_order, boost::test_tools::per_element());
    BOOST_TEST(it->counters().damaged == 1u);
}

// Nobody knows which group it was of: none of that answer may pass it.
BOOST_AUTO_TEST_CASE(a_message_whose_group_cannot_be_read_holds_all_that_came_behind_it)
{
    send_to("a", {"1", "2", "3", "4"});
    bool spoilt = false;
    api.on_received = [&](sqs::receive_message_response& got) {
        if (std::exchange(spoilt, true) || got.messages.size() < 2) return;
        auto unknown = got.messages[1];
        unknown.system_attributes.clear();
        failure const why(errc::bad_reply, "cut");
        got.damaged.push_back({1, unknown, why});
        got.messages.erase(got.messages.begin() + 1);
    };
    consume_failing("", 0);
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_TEST(done == in_order, boost::test_tools::per_element());
}

// A message that could not be read was thrown away, its delete never arrived, and when it came again it could be
// read: its first success came after those of messages that were sent behind it. "succeeds after 42 of its group"
BOOST_AUTO_TEST_CASE(a_group_goes_on_behind_a_discarded_head_only_when_its_delete_is_confirmed)
{
    options.on_malformed = malformed_policy::discard;
    api.on_delete = [this]() -> std::optional<failure> {
        if (time.now() >= tick() + 5s) return {};
        return failure(errc::connection_lost, "cut off", true);
    };
    send_to("a", {"1", "2", "3"});
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        if (d.body() == "1") throw parse_error("no order");
        done.emplace_back(d.body());
        co_return ack();
    });
    time.run_for(io, 4s);
    BOOST_TEST(runs.at("1") == 1);
    BOOST_TEST(done.empty());
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(done == (std::vector<std::string>{"2", "3"}), boost::test_tools::per_element());
}

// The answer is lost, the messages are hidden: asked again under the same attempt id, SQS gives them once more.
BOOST_AUTO_TEST_CASE(a_receive_whose_answer_was_lost_is_recovered_long_before_its_leases_end)
{
    send_to("a", {"1", "2", "3", "4"});
    options.visibility_timeout = 10min;
    bool lost = false;
    api.lose_answer = [&] { return !std::exchange(lost, true); };
    consume_failing("", 0);
    BOOST_TEST(until(5s, [this] { return empty(); }));
    BOOST_TEST(done == in_order, boost::test_tools::per_element());
    BOOST_TEST(it->counters().repeated_polls == 1u);
}

// The repeat was throttled, and nobody asked again: the group stood still until its visibility timeout.
BOOST_AUTO_TEST_CASE(a_lost_receive_is_recovered_although_its_repeat_is_refused)
{
    send_to("a", {"1", "2", "3", "4"});
    options.visibility_timeout = 10min;
    bool lost = false;
    api.lose_answer = [&] { return !std::exchange(lost, true); };
    api.on_receive = [this] {
        return api.receives == 2 ? std::optional(failure(errc::throttled, "too fast", true)) : std::nullopt;
    };
    consume_failing("", 0);
    BOOST_TEST(until(5s, [this] { return empty(); }));
    BOOST_TEST(done == in_order, boost::test_tools::per_element());
    BOOST_TEST(it->counters().repeated_polls == 2u);
}

// In a drain it does not wait at SQS: what lies on the way for three seconds has used up three of its lease.
BOOST_AUTO_TEST_CASE(the_lease_of_what_a_repeat_in_a_drain_brings_late_counts_from_its_request)
{
    send_to("a", {"1"});
    options.visibility_timeout = 5s;
    bool lost = false;
    tick asked{}, named{};
    api.lose_answer = [&] { return !std::exchange(lost, true); };
    api.on_receive = [&] {
        asked = time.now();
        return std::optional<failure>();
    };
    api.before_received = [&](sqs::receive_message_response&) -> asio::awaitable<void> {
        if (api.receives == 2) co_await pause(3s);
    };
    api.on_change = [&] {
        named = time.now();
        return std::optional(failure(errc::throttled, "too fast", true));
    };
    consume_failing("", 0);
    BOOST_TEST(until(1s, [&] { return lost; }));
    drained();
    BOOST_TEST(api.receives == 2);
    BOOST_TEST(named > asked + 3s);
    BOOST_TEST(named <= asked + 5s);
}

BOOST_AUTO_TEST_CASE(a_drain_gives_back_what_waits_behind_a_running_head)
{
    send_to("a", {"1", "2", "3", "4"});
    consume([this](delivery&) -> asio::awaitable<outcome> {
        co_await pause(5s);
        co_return ack();
    });
    BOOST_TEST(until(5s, [this] { return running == 1; }));
    auto const end = drained();
    BOOST_TEST(end.clean());
    BOOST_TEST(end.finished == 1u);
    BOOST_TEST(visible() == 3);
    BOOST_TEST(hidden() == 0);
}

// The groups of what was down filled all places behind their heads, and nothing else was received.
BOOST_AUTO_TEST_CASE(groups_whose_dependency_is_down_leave_half_of_the_places_to_the_others)
{
    dead_letters_to("poison.fifo", 3);
    options.limits.max_in_flight = 100;
    options.outage.dependency = [](delivery const& d) { return std::string(d.body().substr(0, 1)); };
    int handled = 0;
    consume([&](delivery& d) -> asio::awaitable<outcome> {
        co_await pause(20ms);
        auto const is_down = d.body()[0] == 'a';
        if (is_down) co_return unavailable();
        ++handled;
        co_return ack();
    });
    auto const send_groups = [&](int number) {
        for (auto const* const of : {"a", "b"}) {
            auto const group = of + std::to_string(number);
            for (int i = 0; i < 10; ++i)
                send_to(group.c_str(), {(group + "-" + std::to_string(i)).c_str()});
        }
    };
    for (int number = 0; number < 60; ++number) {
        send_groups(number);
        time.run_for(io, 20s);
    }
    BOOST_TEST(handled >= 590);
    BOOST_TEST(it->in_flight() <= 60u * 10); // the heads take places
}

// Three messages are handled between two outages. A tenth of all died: those on their last receive that found it down
// again before the consumer was at full speed.
BOOST_AUTO_TEST_CASE(a_dependency_that_comes_and_goes_sends_no_message_to_the_dead_letter_queue)
{
    dead_letters_to("poison.fifo", 3);
    for (int i = 0; i < 600; ++i)
        send_to(("g" + std::to_string(i % 20)).c_str(), {("m" + std::to_string(i)).c_str()});
    auto down = false;
    consume([&](delivery& d) -> asio::awaitable<outcome> {
        co_await pause(50ms);
        if (down) co_return unavailable();
        done.emplace_back(d.body());
        co_return ack();
    });
    time.run_for(io, 100ms);
    for (int outages = 0; outages < 60; ++outages) {
        down = true;
        time.run_for(io, 2min);
        down = false;
        auto const before = done.size();
        BOOST_TEST(until(5min, [&] { return done.size() >= before + 3; }));
    }
    BOOST_TEST(until(4h, [this] { return empty(); }));
    BOOST_TEST(waiting_in(poison) == 0);
    BOOST_TEST(done.size() == 600u);
}

// A message that has found it down rests once it is up again. That was no part of the outage, and made it, and those
// behind it in its group, too old.
BOOST_AUTO_TEST_CASE(a_message_that_rests_after_an_outage_grows_no_older_nor_does_its_group)
{
    options.max_age = 20s;
    options.limits.max_in_flight = 16; // four may wait here, and full speed is four seconds away
    dead_letters_to("poison.fifo", 1);
    auto down = true;
    std::map<std::string, int> failed;
    consume([&](delivery& d) -> asio::awaitable<outcome> {
        co_await pause(50ms);
        if (down) co_return unavailable();
        auto const once = ++failed[std::string(d.body())] == 1;
        co_return once ? retry() : ack(); // an ordinary failure
    });
    for (int i = 0; i < 6; ++i) {
        auto const n = std::to_string(i);
        send_to(("g" + n).c_str(), {("head" + n).c_str(), ("tail" + n).c_str()});
    }
    time.run_for(io, 3min);
    down = false;
    send_to("fresh", {"well"});
    BOOST_TEST(until(10min, [this] { return empty(); }));
    BOOST_TEST(failed.size() >= 4u);
    BOOST_TEST(it->counters().rejected == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
