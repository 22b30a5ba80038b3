#include <quern/tracing/span_exporter.hpp>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace quern::tracing {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr int most_tries = 5;
constexpr std::chrono::milliseconds longest_pause = 60s;

} // namespace

void span_export_rule::taken(tick now)
{
    tries_ = 0;
    next_ = now + every_;
}

bool span_export_rule::failed(bool may_help, std::optional<std::chrono::milliseconds> after, tick now)
{
    if (!may_help || ++tries_ == most_tries) {
        taken(now);
        return false;
    }
    std::chrono::milliseconds const usual = 1s * (1 << (tries_ - 1));
    next_ = now + std::min(std::max(after.value_or(usual), usual), longest_pause); // "at once" would use all tries up
    return true;
}

span_exporter::span_exporter(asio::any_io_executor ex, tracer& from, span_destination& to, span_exporter_options o)
    : from_(from), to_(to), options_(std::move(o)), time_(from.time()), log_(options_.log),
      woken_(std::make_shared<alarm>(time_, ex)), rule_(from.options().to.interval, time_.now())
{
    from_.on_full([ex = std::move(ex), woken = std::weak_ptr(woken_)] {
        asio::post(ex, [woken] {
            if (auto const it = woken.lock()) it->ring();
        });
    });
}

span_exporter::~span_exporter()
{
    from_.on_full({});
}

void span_exporter::drop(std::size_t count, std::string const& why)
{
    if (count == 0) return;
    if (options_.dropped) options_.dropped(count);
    log_.write(log_level::warning, "traces", std::to_string(count) + " spans dropped: " + why, time_.now());
}

/// False when there is nothing more to do now.
asio::awaitable<bool> span_exporter::one(bool is_last)
{
    if (batch_.empty()) batch_ = from_.take(from_.options().batch);
    if (batch_.empty()) {
        rule_.taken(time_.now());
        co_return false;
    }
    auto const answer = co_await to_.send(batch_);
    auto const now = time_.now();
    if (!answer.why) {
        drop(std::min(answer.rejected, batch_.size()), "the receiver rejects them");
        batch_.clear();
        rule_.taken(now);
        co_return true;
    }
    bool const again = rule_.failed(answer.why->retryable, answer.after, now);
    if (again && !is_last) {
        log_.write(log_level::warning, "traces", "not exported, and tried again: " + describe(*answer.why), now);
        co_return false;
    }
    drop(batch_.size(), describe(*answer.why));
    batch_.clear();
    co_return !is_last;
}

asio::awaitable<void> span_exporter::turn()
{
    auto const enough = from_.options().batch;
    bool more = rule_.may_begin(time_.now(), from_.size() >= enough);
    while (more && !over_) {
        auto const went = co_await one(false);
        more = went && from_.size() >= enough;
    }
    drop(from_.take_dropped(), "more end than can be exported");
    log_.flush(time_.now());
}

asio::awaitable<void> span_exporter::run()
{
    while (!over_) {
        auto const at = rule_.next();
        co_await woken_->wait(at);
        if (over_) break;
        co_await turn();
    }
    for (bool more = true; more;) {
        auto const went = co_await one(true);
        more = went;
    }
    auto const left = from_.take(from_.size()).size(); // after a failure nobody tries the others
    drop(left, "the receiver does not take what came before them");
    drop(from_.take_dropped(), "more end than can be exported");
    log_.flush(time_.now() + 2s);
}

void span_exporter::end()
{
    over_ = true;
    woken_->ring();
}

} // namespace quern::tracing
