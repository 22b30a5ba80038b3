// Batches: each message goes its way through once::handle() in a coroutine of its own, and they meet where the
// handler is called.

#include <quern/idempotency/detail/batch_table.hpp>
#include <quern/idempotency/once.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace quern::idempotency {

namespace asio = boost::asio;

namespace {

enum class fault { cancelled, malformed, other };

std::pair<fault, std::string> read(std::exception_ptr const& thrown)
{
    try {
        std::rethrow_exception(thrown);
    } catch (boost::system::system_error const& e) {
        return {e.code() == asio::error::operation_aborted ? fault::cancelled : fault::other, e.what()};
    } catch (parse_error const& e) {
        return {fault::malformed, e.what()};
    } catch (std::exception const& e) {
        return {fault::other, e.what()};
    } catch (...) {
        return {fault::other, "an exception"};
    }
}

} // namespace

asio::awaitable<void> once::take_part(std::shared_ptr<table> at, std::size_t which)
{
    auto& mine = at->all[which];
    seat const place(*at, which);
    worker const meet_others = [&place](delivery&, receipt& left) { return place.handled(left); };
    try {
        mine.said = co_await handle(mine.d, meet_others, &place);
    } catch (...) {
        mine.thrown = std::current_exception();
    }
    at->end(which);
}

/// A call of the handler. What it throws, each of its messages has thrown.
asio::awaitable<void> once::run_round(
    std::shared_ptr<table> at, std::vector<std::size_t> which, batch_worker const& next)
{
    std::vector<std::reference_wrapper<delivery>> messages;
    for (auto const one : which)
        messages.emplace_back(at->all[one].d);
    std::vector<receipt> left(which.size());
    std::vector<outcome> said;
    std::exception_ptr thrown;
    try {
        deliveries const all(messages);
        std::span<receipt> const receipts(left);
        said = co_await next(all, receipts);
        if (said.size() != which.size()) {
            throw std::length_error("the batch handler returned " + std::to_string(said.size()) + " outcomes for " +
                std::to_string(which.size()) + " messages; all are tried again");
        }
    } catch (...) {
        thrown = std::current_exception();
    }
    at->order.end_round();
    for (std::size_t i = 0; i < which.size(); ++i) {
        auto& one = at->all[which[i]];
        one.left = std::move(left[i]);
        if (thrown)
            one.handler_ended.fail(thrown);
        else
            one.handler_ended.tell(said[i]);
    }
    at->wake();
}

/// Outcomes of all messages. A message that has an exception in place of one is tried again; in a batch that was
/// called off it is given back, since it may have failed because of that.
///
/// Throws  what takes no outcome away: a cancellation where the others were only given back, anything else where no
///         message has an outcome. A parse_error only where there is nothing else, since a message may be deleted for
///         it.
std::vector<outcome> once::outcomes_of(table const& at, bool called_off)
{
    auto const instead = called_off ? release().telling(outcome::news::none) : retry();
    std::size_t threw = 0, given_back = 0;
    std::exception_ptr cancelled, malformed, other;
    std::vector<outcome> out;
    for (auto const& one : at.all) {
        if (one.thrown) {
            ++threw;
            auto const kind = read(one.thrown).first;
            (kind == fault::cancelled ? cancelled : kind == fault::malformed ? malformed : other) = one.thrown;
        } else if (one.said.what() == outcome::kind::release) {
            ++given_back;
        }
        out.push_back(one.thrown ? instead : one.said);
    }
    if (cancelled && threw + given_back == at.all.size()) std::rethrow_exception(cancelled);
    if (threw != 0 && threw == at.all.size()) std::rethrow_exception(other ? other : malformed);
    for (auto const& one : at.all)
        if (one.thrown) note(log_level::warning, "idempotency batch", one.d, read(one.thrown).second);
    return out;
}

asio::awaitable<std::vector<outcome>> once::handle_all(deliveries messages, batch_worker const& next)
{
    auto const self = shared_from_this();
    auto const ex = co_await asio::this_coro::executor;
    bool const was = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false); // nobody leaves before all have
    auto const at = std::make_shared<table>(time_, ex, messages);
    auto const gone = [at](std::exception_ptr bug) { // its signal lives that long
        if (bug) std::rethrow_exception(bug);        // what handlers and stores throw is in the table
    };
    for (std::size_t i = 0; i < messages.size(); ++i) {
        auto one = take_part(at, i);
        asio::co_spawn(ex, std::move(one), asio::bind_cancellation_slot(at->all[i].cancel.slot(), gone));
    }
    bool told = false;
    while (!at->order.is_over()) {
        auto const state = co_await asio::this_coro::cancellation_state;
        bool const cancelled = state.cancelled() != asio::cancellation_type::none;
        if (cancelled && !std::exchange(told, true)) at->cancel();
        auto which = at->begin_round(cancelled);
        if (!which.empty()) {
            auto round = run_round(at, std::move(which), next);
            asio::co_spawn(
                ex, std::move(round), asio::bind_cancellation_slot(at->rounds.emplace_back().slot(), gone));
        }
        co_await at->news.wait();
    }
    co_await asio::this_coro::throw_if_cancelled(was);
    auto said = outcomes_of(*at, told);
    co_return said;
}

batch_handler once::around(batch_worker work)
{
    return
        [self = shared_from_this(), work = std::move(work)](deliveries all) { return self->handle_all(all, work); };
}

batch_handler once::wrap(batch_handler inner)
{
    return around(
        batch_worker([inner = std::move(inner)](deliveries all, std::span<receipt>) { return inner(all); }));
}

} // namespace quern::idempotency
