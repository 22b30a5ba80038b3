// The receives of the naive consumer.

#include "naive_worker.hpp"

namespace quern::sim {

namespace {

bool has_handle(sqs::damaged_message const& bad)
{
    return !bad.known.receipt_handle.empty();
}

} // namespace

bool naive_worker::is_without_handles(sqs::receive_message_response const& got)
{
    return got.messages.empty() && !got.damaged.empty() && std::ranges::none_of(got.damaged, has_handle);
}

asio::awaitable<result<sqs::receive_message_response>> naive_worker::answer_to(sqs::receive_message_request request)
{
    if (!flaws_.gives_up_polls) co_return co_await api_.receive_message(std::move(request));
    struct poll {
        poll(clock& time, asio::any_io_executor ex) : bell(time, std::move(ex)) {}
        asio::cancellation_signal cancel;
        alarm bell;
        std::optional<result<sqs::receive_message_response>> answer;
    };
    auto const one = std::make_shared<poll>(*options_.time, io_.get_executor());
    auto work = api_.receive_message(std::move(request));
    auto done = [one](std::exception_ptr thrown, result<sqs::receive_message_response> got) {
        if (!thrown) one->answer.emplace(std::move(got));
        one->bell.ring();
    };
    auto home = asio::bind_cancellation_slot(one->cancel.slot(), std::move(done));
    asio::co_spawn(io_, std::move(work), std::move(home));
    co_await one->bell.wait(now() + 1s);
    if (one->answer) co_return std::move(*one->answer);
    one->cancel.emit(asio::cancellation_type::terminal);
    co_return failure(errc::timed_out, "given up", true);
}

asio::awaitable<result<sqs::receive_message_response>> naive_worker::ask_for(int most, tick& latest)
{
    sqs::receive_message_request request(url_);
    request.max_messages = most;
    request.visibility_timeout = options_.visibility_timeout;
    request.wait_time = std::min(options_.wait_time, std::chrono::floor<seconds>(options_.drain_deadline / 2));
    request.system_attribute_names = {
        "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp", "MessageGroupId"};
    if (fifo_) request.attempt_id = "attempt-" + std::to_string(random_());
    for (int attempt = 1;; ++attempt) {
        latest = now() + *request.wait_time;
        auto copy = request;
        auto got = co_await answer_to(std::move(copy));
        if (got || !fifo_ || flaws_.forgets_attempts || attempt == 3) co_return got;
        co_await rest(200ms);
        if (stopping_) request.wait_time = 0s;
    }
}

void naive_worker::accept(sqs::receive_message_response& got, tick received_at)
{
    std::vector<std::pair<std::size_t, std::string>> damaged; // position, group
    for (auto const& bad : got.damaged)
        damaged.emplace_back(bad.position, bad.known.group_id());
    std::size_t position = 0;
    auto const behind_damaged = [&](job_ptr const& j) {
        return fifo_ && !flaws_.overtakes_damaged && std::ranges::any_of(damaged, [&](auto const& bad) {
            return bad.first < position && bad.second == j->given.group();
        });
    };
    for (auto& m : got.messages) {
        while (std::ranges::any_of(damaged, [&](auto const& bad) { return bad.first == position; }))
            ++position;
        auto const j = take(m, got.storage, received_at);
        auto const held_up = j && behind_damaged(j);
        ++position;
        if (!j || (stopping_ && flaws_.drops_late_arrivals)) {
            if (j) forget(j);
            continue;
        }
        spawn(keep_lease(j));
        if (held_up)
            give_back(j, 0ms);
        else
            waiting_.push_back(j);
    }
    for (auto& bad : got.damaged) {
        if (!has_handle(bad)) continue;
        auto const j = take(bad.known, got.storage, received_at);
        if (!j) continue;
        if (fifo_ && flaws_.overtakes_damaged) {
            forget(j);
            continue;
        }
        log("damaged message", bad.why);
        give_back(j, flaws_.releases_damaged ? 0ms : options_.backoff.delay(j->receives, random_));
    }
    run_next();
}

job_ptr naive_worker::take(sqs::message const& m, storage_ptr const& storage, tick received_at)
{
    auto const same = [&](job_ptr const& j) { return j->given.id() == m.id; };
    auto const at = std::ranges::find_if(jobs_, same);
    auto const replaces = at != jobs_.end() && flaws_.keys_deletes_by_id && (*at)->deleting;
    if (at != jobs_.end() && !flaws_.runs_redeliveries && !replaces) {
        auto const known = *at;
        if (!known->giving_back) {
            if (m.receive_count() < known->receives || flaws_.keeps_the_old_handle) return nullptr;
            known->handle = m.receipt_handle;
            known->receives = m.receive_count();
            known->lease = received_at + lease_length();
            known->beat.ring();
            return nullptr;
        }
        forget(known);
    }
    auto const j = std::make_shared<job>(m, storage, *options_.time, io_);
    j->lease = received_at + lease_length();
    jobs_.push_back(j);
    return j;
}

} // namespace quern::sim
