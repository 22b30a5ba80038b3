#pragma once

#include <quern/broker/journal.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace quern::test {

/// A journal in memory. What was not committed is forgotten when it is read.
class paper_journal final : public broker::journal {
public:
    int commits = 0;
    bool broken = false; ///< commits fail

    std::size_t messages() const { return kept_.messages.size(); }
    std::size_t sent() const { return kept_.sent.size(); }

    result<void> read(broker::journal_reader& to, wall_time) override
    {
        draft_ = kept_;
        if (commits != 0) to.take(kept_.totals).value();
        for (auto const& [number, one] : kept_.queues)
            to.take(one).value();
        for (auto const& [number, one] : kept_.messages)
            to.take(one.shown()).value();
        for (auto const& one : kept_.sent)
            to.take(broker::sent_record{one.queue, one.key, one.until, one.message_id, one.sequence_number}).value();
        for (auto one = kept_.tasks.rbegin(); one != kept_.tasks.rend(); ++one)
            to.take(*one).value();
        return {};
    }

    void queue_is(broker::queue_record const& one) override { draft_.queues[one.number] = one; }
    void queue_emptied(std::uint64_t queue) override
    {
        std::erase_if(draft_.messages, [&](auto const& m) { return m.second.record.queue == queue; });
        std::erase_if(draft_.sent, [&](auto const& s) { return s.queue == queue; });
    }
    void queue_gone(std::uint64_t queue) override
    {
        queue_emptied(queue);
        draft_.queues.erase(queue);
    }
    void message_came(broker::message_record const& one) override
    {
        draft_.messages.insert_or_assign(one.progress.number, copy(one));
    }
    void message_is(broker::message_progress const& now) override
    {
        draft_.messages.at(now.number).record.progress = now;
    }
    void message_left(std::uint64_t number) override { draft_.messages.erase(number); }
    void was_sent(broker::sent_record const& one) override
    {
        draft_.sent.push_back({one.queue, std::string(one.key), one.until, std::string(one.message_id),
            std::string(one.sequence_number)});
    }
    void task_is(broker::task_record const& now) override
    {
        auto const at = std::ranges::find(draft_.tasks, now.id, &broker::task_record::id);
        if (at == draft_.tasks.end())
            draft_.tasks.push_back(now);
        else
            *at = now;
    }
    void task_gone(std::string_view id) override
    {
        std::erase_if(draft_.tasks, [&](broker::task_record const& t) { return t.id == id; });
    }
    result<void> commit(broker::engine_totals const& totals, wall_time) override
    {
        if (broken) return failure(errc::not_confirmed, "no room left");
        draft_.totals = totals;
        kept_ = draft_;
        ++commits;
        return {};
    }

private:
    struct copy {
        explicit copy(broker::message_record const& from)
            : record(from), id(from.id), body(from.body), trace(from.trace_header), group(from.group_id),
              deduplication(from.deduplication_id), sequence(from.sequence_number), source(from.source_arn)
        {
            if (from.attributes) attributes = *from.attributes;
        }
        broker::message_record shown() const
        {
            auto out = record;
            out.id = id;
            out.body = body;
            out.trace_header = trace;
            out.group_id = group;
            out.deduplication_id = deduplication;
            out.sequence_number = sequence;
            out.source_arn = source;
            out.attributes = attributes.empty() ? nullptr : &attributes;
            return out;
        }
        broker::message_record record;
        std::string id, body, trace, group, deduplication, sequence, source;
        sqs::attribute_map attributes;
    };
    struct sent_copy {
        std::uint64_t queue;
        std::string key;
        wall_time until;
        std::string message_id, sequence_number;
    };
    struct contents {
        broker::engine_totals totals;
        std::map<std::uint64_t, broker::queue_record> queues;
        std::map<std::uint64_t, copy> messages;
        std::vector<sent_copy> sent;
        std::vector<broker::task_record> tasks;
    };
    contents draft_, kept_;
};

} // namespace quern::test
