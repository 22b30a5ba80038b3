#include <quern/consumer/forwarding_observer.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace quern {
namespace {

using namespace std::chrono_literals;

struct ear : observer {
    std::vector<std::string> mutable heard;

    bool wants_queued() const override
    {
        heard.push_back("wants_queued");
        return true;
    }
    void received(observed_message const& m) override { hear("received", m); }
    void began(observed_message const& m) override { hear("began", m); }
    void ended(observed_message const& m, handler_end how, outcome::kind verdict) override
    {
        if (how == handler_end::threw && verdict == outcome::kind::retry) hear("ended", m);
    }
    void lease_extended(observed_message const& m, std::chrono::seconds by) override
    {
        if (by == 3s) hear("lease_extended", m);
    }
    void lease_lost(observed_message const& m) override { hear("lease_lost", m); }
    void settled(observed_message const& m, message_end how, std::chrono::seconds again) override
    {
        if (how == message_end::put_off && again == 4s) hear("settled", m);
    }
    void receive_failed(failure const& why, int in_a_row) override
    {
        if (why.code == errc::throttled && in_a_row == 5) heard.push_back("receive_failed");
    }
    void breaker_changed(std::string_view dependency, policy::breaker::phase from, policy::breaker::phase to) override
    {
        if (dependency == "shop" && from == policy::breaker::phase::closed && to == policy::breaker::phase::open)
            heard.push_back("breaker_changed");
    }
    void limits_changed(observed_limits const& now) override
    {
        if (now.polls == 6) heard.push_back("limits_changed");
    }
    void limits_set(consumer_limits const& now) override
    {
        if (now.max_in_flight == 7) heard.push_back("limits_set");
    }
    void drain_began(std::chrono::milliseconds limit) override
    {
        if (limit == 8ms) heard.push_back("drain_began");
    }
    void drain_cancels() override { heard.push_back("drain_cancels"); }
    void drain_ended(drain_report const&) override { heard.push_back("drain_ended"); }
    void request_done(sqs::observed_request const& r) override
    {
        if (r.attempts == 9) heard.push_back("request_done");
    }

private:
    void hear(std::string event, observed_message const& m)
    {
        if (m.id == "m1") heard.push_back(std::move(event));
    }
};

/// Names of the virtual functions that a header declares, its destructor aside.
std::vector<std::string> events_in(std::string const& header)
{
    std::ifstream file(header);
    std::vector<std::string> out;
    for (std::string line; std::getline(file, line);) {
        auto const at = line.find(" virtual ");
        auto const end = line.find('(');
        if (at == line.npos || line.find('~') != line.npos) continue;
        auto const name = line.rfind(' ', end) + 1;
        out.push_back(line.substr(name, end - name));
    }
    return out;
}

void tell_all(observer& to)
{
    observed_message const m{.id = "m1", .group = {}};
    to.wants_queued();
    to.received(m);
    to.began(m);
    to.ended(m, handler_end::threw, outcome::kind::retry);
    to.lease_extended(m, 3s);
    to.lease_lost(m);
    to.settled(m, message_end::put_off, 4s);
    to.receive_failed(failure(errc::throttled, "slowly"), 5);
    to.breaker_changed("shop", policy::breaker::phase::closed, policy::breaker::phase::open);
    observed_limits limits;
    limits.polls = 6;
    to.limits_changed(limits);
    consumer_limits set;
    set.max_in_flight = 7;
    to.limits_set(set);
    to.drain_began(8ms);
    to.drain_cancels();
    to.drain_ended({});
    sqs::observed_request request;
    request.attempts = 9;
    to.request_done(request);
}

} // namespace

BOOST_AUTO_TEST_SUITE(forwarding_observers)

// The headers say which events there are: a new one that is not forwarded fails here.
BOOST_AUTO_TEST_CASE(every_event_is_forwarded)
{
    auto events = events_in("lib/quern/consumer/observer.hpp");
    std::ranges::copy(events_in("lib/quern/sqs/request_observer.hpp"), std::back_inserter(events));
    BOOST_REQUIRE(events.size() >= 15u);

    auto const last = std::make_shared<ear>();
    forwarding_observer first(last);
    tell_all(first);
    BOOST_TEST(last->heard == events, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(nobody_need_be_next)
{
    forwarding_observer alone(nullptr);
    tell_all(alone);
    BOOST_TEST(!alone.wants_queued());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace quern
