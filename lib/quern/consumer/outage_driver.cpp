// The pipeline in bad times: who may start, who waits, who goes back; and what it all waits for, in words.

#include <quern/consumer/pipeline.hpp>

#include <charconv>

namespace quern {

namespace asio = boost::asio;

void consumer::pipeline::admit(held_ptr h)
{
    if (intake_.stopped())
        fail(std::move(h), release()); // a head before it has halted the consumer
    else if (h->damage)
        start(std::move(h));
    else if (auto const time = now(); !outage_.admits(time))
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

/// Those that waited for better times, then those that waited for their turn. In bad times nobody waits for a turn.
void consumer::pipeline::admit_waiting(tick time)
{
    for (;;) {
        auto const good = outage_.admits(time);
        if (good && !pace_.has_turn(time)) return;
        auto h = outage_.next_kept(time);
        if (!h) h = pace_.next();
        if (!h) return;
        if (good)
            begin(std::move(h), time);
        else
            stand_back(std::move(h));
    }
}

/// A group whose head waits here waits with it.
void consumer::pipeline::stand_back(held_ptr h)
{
    if (!drain_ && outage_.keeps(*h))
        outage_.keep(std::move(h));
    else
        fail(std::move(h), drain_ ? release() : retry_after(outage_.put_off()));
}

void consumer::pipeline::pause(bool on)
{
    outage_.pause(on);
    wake_.ring();
}

void consumer::pipeline::force_open(bool on)
{
    outage_.force_open(on);
    wake_.ring();
}

/// From the queue's redrive policy. Without the permission to ask, no receive counts as the last.
asio::awaitable<void> consumer::pipeline::learn_max_receives()
{
    sqs::get_queue_attributes_request ask(queue_url_);
    ask.attribute_names = {"RedrivePolicy"};
    auto const got = co_await api_.get_queue_attributes(std::move(ask));
    if (!got) co_return;
    auto const policy = got->attributes.find("RedrivePolicy");
    if (policy == got->attributes.end()) co_return;
    std::string_view const text = policy->second;
    auto at = text.find("\"maxReceiveCount\"");
    if (at == text.npos) co_return;
    at = text.find_first_of("0123456789", at);
    if (at == text.npos) co_return;
    int most = 0;
    std::from_chars(text.data() + at, text.data() + text.size(), most);
    outage_.set_max_receives(most);
}

/// One line: what is done, and why no more.
std::string consumer::pipeline::explain()
{
    auto const time = now();
    auto text = std::to_string(intake_.polls()) + " receives open, " + std::to_string(in_flight.size()) +
        " messages in flight";
    auto const add = [&](std::string const& part) { text.append("; ").append(part); };
    if (ended_)
        add("ended");
    else if (!started_)
        add("not started");
    else if (drain_)
        add("draining");
    if (auto const bad = outage_.explain(time); !bad.empty()) add(bad);
    if (in_flight.size() >= options.max_in_flight) {
        add("max_in_flight is reached: " + std::to_string(running_) + " handlers run, " +
            std::to_string(in_flight.size() - running_) + " messages wait or are being settled");
    }
    if (!last_receive_error_.empty()) add("the last receive failed: " + last_receive_error_);
    if (auto const longest = runs_.longest(time)) {
        add("the oldest handler has run for " + std::to_string(longest->count()) + " s");
    }
    if (fifo_ && in_flight.size() >= fifo_ceiling) {
        add("a FIFO queue gives nothing more while " + std::to_string(fifo_ceiling) + " messages are in flight");
    }
    return text;
}

} // namespace quern
