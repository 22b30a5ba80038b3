// The days of redrives pass here.

#include "simulation/redrive/redrive_process.hpp"
#include "simulation/redrive/redrive_witness.hpp"

#include <quern/sim/local_api.hpp>
#include <quern/sim/virtual_clock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace quern::sim {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using std::chrono::milliseconds;
using phase = redrive::run_book::phase;

namespace {

constexpr auto held_for = 20s; // by the consumers

class redrive_world {
public:
    redrive_world(redrive_day const& day, redrive_seams const& seams, bool trace)
        : day_(day), seams_(seams), traces_(trace), dice_(day.seed * 0x9e3779b97f4a7c15 + 6)
    {
        books_.tell = [this](std::string const& what) { note("BROKEN: " + what); };
        create_queues();
        slots_.resize(static_cast<std::size_t>(day.redrivers));
        spawn(produce());
        spawn(consume());
        spawn(change_weather());
        for (std::size_t i = 0; i < slots_.size(); ++i)
            spawn(begin_later(i));
    }
    redrive_world(redrive_world const&) = delete;
    ~redrive_world()
    {
        slots_.clear();
        io_.shutdown();
    }

    run_result run()
    {
        auto const end = last_event() + day_.patience;
        while (!is_over() && step(end)) {
        }
        for (auto& slot : slots_)
            if (slot) retire(*slot);
        take_poison();
        books_.finish(is_over(), day_.journal || kills_ == 0 ? marked_ : -1);
        result_.violations = std::move(books_.violations);
        result_.lasted = std::chrono::duration_cast<milliseconds>(time_.now() - tick());
        return std::move(result_);
    }

private:
    struct context : asio::io_context {
        using asio::execution_context::shutdown;
    };

    std::string create(std::string const& name, sqs::string_map attributes)
    {
        sqs::create_queue_request wanted(name + (day_.fifo ? ".fifo" : ""));
        wanted.attributes = std::move(attributes);
        if (day_.fifo) wanted.attributes["FifoQueue"] = "true";
        return engine_.create_queue(wanted, time_.wall()).value().queue_url;
    }

    void create_queues()
    {
        sqs::string_map const longest{{"MessageRetentionPeriod", "1209600"}};
        dead_url_ = create("dead", longest);
        poison_url_ = create("poison", longest);
        auto with = longest;
        with["RedrivePolicy"] = std::string(R"({"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead)") +
            (day_.fifo ? ".fifo" : "") + R"(","maxReceiveCount":)" + std::to_string(day_.max_receives) + "}";
        for (int i = 0; i < day_.sources; ++i)
            source_urls_.push_back(create("orders-" + std::to_string(i), with));
        redrive_witness::rules rules;
        rules.fifo = day_.fifo;
        rules.max_attempts = day_.options.plan.max_attempts;
        books_.begin(rules, dead_url_, poison_url_, source_urls_);
    }

    void spawn(asio::awaitable<void> work)
    {
        asio::co_spawn(io_, std::move(work), [](std::exception_ptr bug) {
            if (bug) std::rethrow_exception(bug);
        });
    }

    asio::awaitable<void> at(tick when)
    {
        auto const timer = time_.make_timer(co_await asio::this_coro::executor);
        co_await timer->wait_until(when);
    }

    void note(std::string text)
    {
        if (!traces_) return;
        auto const now = std::chrono::duration_cast<milliseconds>(time_.now() - tick()).count();
        result_.trace.push_back(std::to_string(now) + " ms: " + std::move(text));
    }

    bool is_mended() const { return time_.now() >= tick() + day_.mended_after; }

    tick last_event() const
    {
        auto out = std::max(day_.sent_within, day_.mended_after);
        for (auto const& one : day_.spells)
            out = std::max(out, one.until);
        return tick() + out;
    }

    asio::awaitable<void> produce()
    {
        static constexpr fate fates[] = {fate::never, fate::once_redriven, fate::once_mended, fate::at_once};
        for (int i = 0; i < day_.messages; ++i) {
            co_await at(tick() + day_.sent_within * i / day_.messages);
            auto const source = static_cast<std::size_t>(dice_.between(0, day_.sources - 1));
            auto const body = redrive_witness::body_of(fates[dice_.between(0, 3)], source, i);
            sqs::send_message_request letter(source_urls_[source], body);
            if (day_.fifo) {
                letter.group_id = "g" + std::to_string(dice_.between(0, 3));
                letter.deduplication_id = body;
            }
            books_.born(body);
            auto const sent = co_await local_.send_message(std::move(letter));
            sent.value();
        }
        sent_all_ = true;
    }

    bool succeeds(sqs::message const& m) const
    {
        switch (redrive_witness::fate_of(m.body)) {
        case fate::never: return false;
        case fate::once_redriven: return m.attribute("x-redrive-attempt") != nullptr;
        case fate::once_mended: return is_mended();
        default: return true;
        }
    }

    /// The consumers of all queues. What fails is theirs until it comes again, and dead at last.
    asio::awaitable<void> consume()
    {
        for (;;) {
            for (std::size_t source = 0; source < source_urls_.size(); ++source)
                co_await work(source);
            is_empty_ = sent_all_ && time_.now() >= last_event() && count_all() == 0;
            auto const next = time_.now() + day_.works_every;
            co_await at(next);
        }
    }

    asio::awaitable<void> work(std::size_t source)
    {
        for (;;) {
            sqs::receive_message_request ask(source_urls_[source]);
            ask.max_messages = 10;
            ask.visibility_timeout = held_for;
            ask.wait_time = 0s;
            ask.attribute_names = {"All"};
            auto const got = co_await local_.receive_message(std::move(ask));
            if (got.value().messages.empty()) co_return;
            for (auto const& m : got->messages) {
                if (!succeeds(m)) continue;
                books_.handled(std::string(m.body), source);
                note("consumer " + std::to_string(source) + " has handled " + std::string(m.body));
                sqs::delete_message_request gone(source_urls_[source], std::string(m.receipt_handle));
                auto const deleted = co_await local_.delete_message(std::move(gone));
                deleted.value();
            }
        }
    }

    std::size_t count_all()
    {
        std::size_t out = 0;
        for (auto const& url : source_urls_)
            out += count(url);
        return out + count(dead_url_);
    }

    std::size_t count(std::string const& url)
    {
        sqs::get_queue_attributes_request ask(url);
        auto const got = engine_.get_queue_attributes(ask, time_.wall()).value().attributes;
        return std::stoul(got.at("ApproximateNumberOfMessages")) +
            std::stoul(got.at("ApproximateNumberOfMessagesNotVisible")) +
            std::stoul(got.at("ApproximateNumberOfMessagesDelayed"));
    }

    asio::awaitable<void> change_weather()
    {
        auto spells = day_.spells;
        std::ranges::stable_sort(spells, {}, &spell::from);
        for (auto const& one : spells) {
            co_await at(tick() + one.from);
            set_weather(one);
            co_await at(tick() + one.until);
            set_weather({});
        }
    }

    void set_weather(spell now)
    {
        weather_ = std::move(now);
        engine_.set_faults(weather_.faults);
        for (auto& slot : slots_)
            if (slot) slot->set_weather(weather_);
    }

    asio::awaitable<void> begin_later(std::size_t slot)
    {
        auto const when = time_.now() + dice_.between(0ms, day_.rest);
        co_await at(when);
        begin(slot);
    }

    void begin(std::size_t slot)
    {
        auto const id = ++processes_;
        redrive_process::surroundings around{
            day_, seams_, time_, {local_, time_, io_.get_executor(), &books_, {}, {}}, day_.options};
        auto& o = around.options;
        o.dlq_url = dead_url_;
        o.poison_url = poison_url_;
        o.time = &time_;
        o.seed = day_.options.seed + static_cast<std::uint64_t>(id);
        o.log = nullptr;
        if (traces_)
            o.log = [this, id](
                        log_level, std::string_view text) { note(std::to_string(id) + ' ' + std::string(text)); };
        around.id = id;
        around.on = day_.journal ? &disk_ : nullptr;
        if (kills_ < day_.most_kills && dice_.one_in(2)) around.dies_at = static_cast<int>(dice_.between(1, 80));
        note("redriver " + std::to_string(id) + " begins");
        auto made = redrive_process::begin(std::move(around));
        if (!made) {
            books_.complain("the journal cannot be read: " + describe(made.error()));
            return;
        }
        slots_[slot] = std::move(*made);
        slots_[slot]->set_weather(weather_);
        if (stops_ < day_.most_stops && dice_.one_in(3)) spawn(stop_later(slot, slots_[slot].get()));
    }

    asio::awaitable<void> stop_later(std::size_t slot, redrive_process const* which)
    {
        auto const when = time_.now() + dice_.between(0ms, 3min);
        co_await at(when);
        if (slots_[slot].get() != which || which->report()) co_return;
        ++stops_;
        note("a redriver is told to stop");
        slots_[slot]->stop();
    }

    /// Everything that can be done at this moment, then on to the next. False: nothing is left until the end.
    bool step(tick end)
    {
        for (std::size_t done = 1; done != 0;) {
            io_.restart();
            done = io_.poll();
            for (auto& slot : slots_)
                if (slot && !slot->is_dead()) done += slot->run();
        }
        ++result_.steps;
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            if (!slots_[i] || (!slots_[i]->is_dead() && !slots_[i]->report())) continue;
            retire(*slots_[i]);
            slots_[i].reset();
            spawn(begin_later(i));
        }
        return time_.fire_next(end);
    }

    void retire(redrive_process& it)
    {
        result_.requests += it.requests();
        if (it.is_dead()) {
            ++kills_;
            note("a redriver is killed");
        } else if (it.report() && !it.report()->has_value()) {
            if (time_.now() > last_event() + 1min)
                books_.complain("a redrive fails: " + describe(it.report()->error()));
        } else if (it.report()) {
            auto const& told = it.report()->value();
            note("a redriver has ended: " + to_json(told));
            result_.drains.add(told.drain);
            if (!day_.journal) marked_ += static_cast<long>(told.maybe_twice);
        }
        if (day_.journal) look_at_journal();
    }

    /// The next run begins on a disk that is empty.
    void look_at_journal()
    {
        auto const read = redrive::read_journal(disk_.text);
        if (!read) {
            books_.complain("the journal cannot be read: " + describe(read.error()));
            return;
        }
        if (read->now() != phase::succeeded) return;
        auto const counts = read->counts();
        marked_ += static_cast<long>(counts.maybe_twice);
        if (counts.deleted != counts.redriven + counts.isolated)
            books_.complain("a run is over, and has sent more than it has deleted");
        if (counts.unknown != 0) books_.complain("a run is over, and does not know what it has sent");
        disk_ = {};
    }

    bool has_begun_run() { return day_.journal && !disk_.text.empty(); }

    bool is_over()
    {
        if (!is_empty_) return false;
        if (std::ranges::any_of(slots_, [](auto const& slot) { return slot != nullptr; })) return false;
        return !has_begun_run();
    }

    void take_poison()
    {
        for (;;) {
            sqs::receive_message_request ask(poison_url_);
            ask.max_messages = 10;
            ask.wait_time = 0s;
            ask.attribute_names = {"All"};
            auto const got = engine_.receive_message(ask, time_.wall()).value().answer;
            if (got.messages.empty()) return;
            for (auto const& m : got.messages) {
                books_.poisoned(m);
                sqs::delete_message_request gone(
                    poison_url_, std::string(m.receipt_handle)); // it would block its group
                engine_.delete_message(gone, time_.wall()).value();
            }
        }
    }

    redrive_day const& day_;
    redrive_seams const& seams_;
    bool const traces_;
    dice dice_;
    virtual_clock time_;
    broker::engine engine_{broker::engine_options{.seed = 1}}; // what is random comes from the day
    redrive_witness books_;
    context io_; // the service and the script; what it destroys refers to the members above
    local_api local_{engine_, time_, io_.get_executor()};
    std::string dead_url_, poison_url_;
    std::vector<std::string> source_urls_;
    disk disk_;
    spell weather_;
    std::vector<std::unique_ptr<redrive_process>> slots_;
    int processes_ = 0, kills_ = 0, stops_ = 0;
    long marked_ = 0; ///< messages that may be there twice, as far as anybody was told
    bool sent_all_ = false, is_empty_ = false;
    run_result result_;
};

} // namespace

run_result run(redrive_day const& day, bool trace, redrive_seams const& seams)
{
    redrive_world all(day, seams, trace);
    return all.run();
}

} // namespace quern::sim
