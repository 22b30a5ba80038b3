#pragma once

#include <quern/consumer/detail/dispatch/outage.hpp>
#include <quern/sim/virtual_clock.hpp>

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace quern::test {

using namespace quern::detail;
using namespace std::chrono_literals;
using phase = dependency::phase;

/// The rule over as many dependencies as a test names, without jitter in how long a breaker stays open.
struct bad_times {
    sim::virtual_clock time;
    tick now = time.now() + 1h;
    consumer_options options;
    std::optional<outage> rule;
    std::deque<std::string> texts;

    bad_times()
    {
        options.max_in_flight = 40; // ten may wait here
        options.breaker->open_for = policy::backoff::fixed({5s});
        options.dependency = [](delivery const&) { return std::string(); };
    }

    outage& it()
    {
        if (!rule) rule.emplace(options, 1);
        return *rule;
    }

    held_ptr message(std::string_view depends_on, int receive = 1)
    {
        sqs::message m;
        m.id = texts.emplace_back("m" + std::to_string(texts.size()));
        m.system_attributes = {{"ApproximateReceiveCount", texts.emplace_back(std::to_string(receive))}};
        auto h = make_held(m, nullptr, time, now);
        it().belongs(*h, depends_on);
        return h;
    }

    /// Its handler begins and ends.
    held_ptr run(held_ptr h, outcome const& said)
    {
        it().started(*h, now);
        it().ended(*h, outage::news_of(said), now);
        return h;
    }
    held_ptr run(std::string_view depends_on, outcome const& said) { return run(message(depends_on), said); }

    void take_down(std::string_view what)
    {
        for (int i = 0; i < 3; ++i)
            run(what, unavailable());
    }
    bool admits(std::string_view what) { return it().admits(*message(what), now); }

    /// The way back of one that found its dependency down.
    std::optional<outage::way_back> found_down(held_ptr const& h, outcome const& said = unavailable())
    {
        run(h, said);
        return it().found_down(h, outage::news_of(said), now);
    }
    std::size_t room() { return it().room(0, 0, now).all; }

    /// "payments to open", …
    std::vector<std::string> events()
    {
        static constexpr char const* names[] = {"closed", "open", "half open", "slow start"};
        std::vector<std::string> out;
        for (auto const& e : it().take_events())
            out.push_back(e.of->name + " to " + names[static_cast<int>(e.to)]);
        return out;
    }
};

using lines = std::vector<std::string>;
auto const each = boost::test_tools::per_element();

} // namespace quern::test
