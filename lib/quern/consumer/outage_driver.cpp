// The pipeline in bad times, and at its pace: who may start, who waits, who goes back.

#include <quern/consumer/pipeline.hpp>

#include <charconv>
#include <utility>

namespace quern {

namespace asio = boost::asio;

void consumer::pipeline::admit(held_ptr h, tick time)
{
    if (intake_.stopped())
        fail(std::move(h), release()); // a head before it has halted the consumer
    else if (h->damage)
        start(std::move(h));
    else if (!outage_.admits(time))
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

void consumer::pipeline::pause(std::string why)
{
    outage_.pause(std::move(why));
    wake_.ring();
}

void consumer::pipeline::resume()
{
    outage_.resume();
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

} // namespace quern
