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

/// From the queue's redrive policy. As long as it cannot be read, no receive counts as the last.
asio::awaitable<void> consumer::pipeline::learn_max_receives()
{
    sqs::get_queue_attributes_request ask(queue_url_);
    ask.attribute_names = {"RedrivePolicy"};
    auto const got = co_await api_.get_queue_attributes(std::move(ask));
    if (drain_) co_return;
    if (got) {
        outage_.set_max_receives(max_receives_in(*got));
        if (redrive_.told()) log_.write(log_level::info, "redrive policy", "read at last", now());
        co_return;
    }
    wake_.ring();
    if (!redrive_.failed(counters.polls != counters.failed_polls, now(), random_)) co_return;
    log_.write(log_level::warning, "redrive policy",
        "cannot be read (sqs:GetQueueAttributes), so an outage may fill the dead-letter queue until it can: " +
            describe(got.error()),
        now());
}

} // namespace quern
