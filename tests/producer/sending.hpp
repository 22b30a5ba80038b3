#pragma once

#include <quern/producer/detail/send_queue.hpp>

#include <boost/test/unit_test.hpp>

#include <optional>
#include <string>
#include <vector>

namespace quern::test {

using namespace quern::detail;
using namespace std::chrono_literals;

using batch = std::vector<outgoing_ptr>;

struct sending {
    tick const t0 = tick() + 1h;
    producer_options options;
    bool fifo = false;
    std::optional<send_queue> made;

    sending() { options.backoff = options.backoff.with(policy::jitter::none); } // 100 ms, 200 ms, 400 ms …

    send_queue& queue()
    {
        if (!made) made.emplace(options, fifo, 1);
        return *made;
    }

    outgoing_ptr add(std::string body, tick at, std::string group = {})
    {
        auto message = std::make_shared<outgoing>(sqs::send_message_entry(std::move(body)));
        if (fifo) message->entry.group_id = std::move(group);
        queue().add(message, at);
        return message;
    }

    void add_many(int count, tick at)
    {
        for (int i = 0; i < count; ++i)
            add("m" + std::to_string(i), at);
    }

    void confirm(batch const& all, tick at)
    {
        for (auto const& message : all)
            BOOST_TEST(queue().answered(message, false, at));
        returned(all, at);
    }

    void returned(batch const& all, tick at, policy::call_end how = policy::call_end::ok)
    {
        queue().returned(how, 10ms, all.size(), at);
    }

    void fail(batch const& all, tick at)
    {
        for (auto const& message : all)
            BOOST_TEST(!queue().answered(message, true, at));
        returned(all, at, policy::call_end::unavailable);
    }
};

inline std::vector<std::string> bodies(batch const& all)
{
    std::vector<std::string> out;
    for (auto const& message : all)
        out.push_back(message->entry.body);
    return out;
}

using texts = std::vector<std::string>;

} // namespace quern::test
