// The pipeline in bad times, and at its pace: who may start, who waits, who goes back.

#include <quern/consumer/detail/pipeline.hpp>

#include <charconv>
#include <utility>

namespace quern {

namespace asio = boost::asio;

namespace {

/// 0 where there is no policy.
int max_receives_in(sqs::attributes_response const& got)
{
    auto const policy = got.attributes.find("RedrivePolicy");
    if (policy == got.attributes.end()) return 0;
    std::string_view const text = policy->second;
    auto const name = text.find("\"maxReceiveCount\"");
    auto const at = name == text.npos ? name : text.find_first_of("0123456789", name);
    int most = 0;
    if (at != text.npos) std::from_chars(text.data() + at, text.data() + text.size(), most);
    return most;
}

} // namespace

void consumer::pipeline::admit(held_ptr h, tick time)
{
    auto const asked = h->damage || h->depends_on || !options.breaker;
    if (!asked) outage_.belongs(*h, dependency_of(*h));
    if (intake_.stopped())
        fail(std::move(h), release()); // a head before it has halted the consumer
    else if (h->damage)
        start(std::move(h));
    else if (!outage_.admits(*h, time))
        stand_back(std::move(h));
    else if (!pace_.admits(time))
        pace_.wait(std::move(h));
    else
        begin(std::move(h), time);
}

void consumer::pipeline::begin(held_ptr h, tick time)
{
    pace_.started(time);
    start(std::move(h));
}

/// Nothing is lost by a function that fails: its message is treated like those without a name.
std::string consumer::pipeline::dependency_of(held const& h)
{
    if (!options.dependency) return {};
    try {
        return options.dependency(h.message);
    } catch (...) {
        log_.write(log_level::error, "dependency",
            std::string(h.message.id()) + ": threw an exception; it counts as one without a name", now());
        return {};
    }
}

/// Those that waited for better times, then those that waited for their turn. In bad times nobody waits for a turn.
void consumer::pipeline::admit_waiting(tick time)
{
    if (outage_.worsened()) {
        for (auto& h : pace_.take_waiting())
            admit(std::move(h), time);
    }
    while (pace_.has_turn(time)) {
        auto h = outage_.next_kept(time);
        if (!h) h = pace_.next();
        if (!h) return;
        if (outage_.admits(*h, time))
            begin(std::move(h), time);
        else
            stand_back(std::move(h));
    }
}

/// A group whose head waits here waits with it.
void consumer::pipeline::stand_back(held_ptr h)
{
    if (drain_) return fail(std::move(h), release());
    auto const back = outage_.stand_back(h, now());
    auto& book = book_of(*h);
    if (back) put_off(std::move(h), *back, book);
}

void consumer::pipeline::tell_of_outages(tick time)
{
    for (auto const& e : outage_.take_events()) {
        using phase = dependency::phase;
        if (e.from == phase::closed) e.of->ages.begin(service_time());
        if (e.to == phase::closed) e.of->ages.end(service_time());
        if (e.to == phase::open && e.from != phase::half_open) redrive_.opened();
        auto const level = e.to == phase::open ? log_level::warning
            : e.to == phase::closed            ? log_level::info
                                               : log_level::debug;
        log_.write(level, "breaker", to_string(e, time), time);
    }
}

/// By the clock that tells first receives.
wall_time consumer::pipeline::service_time() const
{
    return time_.wall() + api_.clock_offset();
}

void consumer::pipeline::pause(std::string why)
{
    outage_.pause(std::move(why));
    ages_.begin(service_time());
    wake_.ring();
}

void consumer::pipeline::resume()
{
    outage_.resume();
    if (!drain_) ages_.end(service_time());
    wake_.ring();
}

void consumer::pipeline::force_open(bool on)
{
    outage_.force_open(on, now());
    wake_.ring();
}

/// From the queue's redrive policy. As long as it cannot be read, no receive counts as the last.
asio::awaitable<void> consumer::pipeline::learn_max_receives()
{
    sqs::get_queue_attributes_request ask(queue_url_);
    ask.attribute_names = {"RedrivePolicy"};
    auto const got = co_await api_.get_queue_attributes(std::move(ask));
    if (drain_) co_return;
    wake_.ring();
    if (got) {
        outage_.set_max_receives(max_receives_in(*got));
        if (redrive_.succeeded(now())) log_.write(log_level::info, "redrive policy", "read at last", now());
        co_return;
    }
    if (!redrive_.failed(counters.polls != counters.failed_polls, now(), random_)) co_return;
    log_.write(log_level::warning, "redrive policy",
        "cannot be read (sqs:GetQueueAttributes), so an outage may fill the dead-letter queue until it can: " +
            describe(got.error()),
        now());
}

} // namespace quern
