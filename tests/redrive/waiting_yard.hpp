#pragma once

#include "redrive/yard.hpp"

#include <quern/redrive/journal.hpp>

#include <list>
#include <memory>
#include <string>
#include <string_view>

namespace quern::test {

/// A disk with so much room.
struct memory {
    std::string text;
    std::size_t room = 1'000'000'000;
    bool is_cancelled = false;
};
class memory_file final : public redrive::journal_file {
public:
    explicit memory_file(memory& in) : in_(in) {}
    result<void> read(piece_reader const& take) override { return take(in_.text); }
    result<void> append(std::string_view text) override
    {
        if (in_.text.size() + text.size() > in_.room) return failure(errc::service_error, "no space left");
        in_.text += text;
        return {};
    }
    result<void> cut(std::size_t size) override
    {
        in_.text.resize(size);
        return {};
    }
    bool is_cancelled() override { return in_.is_cancelled; }
    void forget_cancel() override { in_.is_cancelled = false; }

private:
    memory& in_;
};

/// Runs with a journal, which may wait for days.
struct waiting_yard : yard {
    memory disk;
    std::list<redrive::journal> journals; // as long as their drivers

    explicit waiting_yard(std::string const& suffix = "") : yard(suffix)
    {
        options.plan.waits = true;
        options.plan.delay_max = 24h * 30;
        options.wait_time = 20s;
    }
    ~waiting_yard()
    {
        for (auto& d : drivers)
            d.stop();
        until(2min, [this] { return reports.size() + refused.size() >= drivers.size(); });
    }

    void keep(std::string const& url, std::chrono::seconds for_so_long)
    {
        sqs::set_queue_attributes_request change(
            url, {{"MessageRetentionPeriod", std::to_string(for_so_long.count())}});
        engine.set_queue_attributes(change, time.wall()).value();
    }

    redrive::redriver& start()
    {
        auto file = std::make_unique<memory_file>(disk);
        options.record = &journals.emplace_back(redrive::journal::open(std::move(file)).value());
        return yard::start();
    }
    redrive::report run(std::chrono::milliseconds limit)
    {
        start();
        return finish(limit);
    }
    redrive::run_book book() const { return redrive::read_journal(disk.text).value(); }
    std::vector<redrive::event> events() const
    {
        std::vector<redrive::event> out;
        auto const take = [&out](redrive::event&& e) {
            out.push_back(std::move(e));
            return result<void>();
        };
        redrive::read_events(disk.text, take).value();
        return out;
    }
};
struct waiting_fifo_yard : waiting_yard {
    waiting_fifo_yard() : waiting_yard(".fifo") {}
};

} // namespace quern::test
