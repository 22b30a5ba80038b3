#include <quern/idempotency/detail/gatherer.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <exception>
#include <set>

namespace quern::idempotency::detail {

using namespace quern::detail;
namespace asio = boost::asio;

std::vector<statement_line::waiting> statement_line::take()
{
    std::vector<waiting> out;
    std::deque<waiting> left;
    std::set<std::string> items;
    for (auto& one : line_) {
        bool const fits = out.size() < most && items.insert(one.item).second;
        if (fits)
            out.push_back(std::move(one));
        else
            left.push_back(std::move(one));
    }
    line_ = std::move(left);
    return out;
}

/// One request, from the moment at which it is due. It may end without an answer, with the context that it lives on;
/// whoever waits for one may live elsewhere.
struct gatherer::round {
    explicit round(std::shared_ptr<gatherer> its) : owner(std::move(its)) {}
    round(round const&) = delete;
    ~round()
    {
        failure const why(errc::stopped, "the client's context has ended");
        if (!has_taken) owner->answer_all(why);
        for (auto const& one : taken)
            owner->answer(one.id, why); // who has an answer is not there any more
    }

    std::shared_ptr<gatherer> const owner;
    std::vector<statement_line::waiting> taken{};
    bool has_taken = false;
};

gatherer::gatherer(std::shared_ptr<services::dynamodb> client, clock& time, std::chrono::milliseconds linger)
    : client_(std::move(client)), time_(time), linger_(linger)
{}

asio::awaitable<result<gatherer::reply>> gatherer::carry(std::string item, services::statement what)
{
    std::uint64_t id = 0;
    {
        std::lock_guard const lock(mutex_);
        id = next_++;
    }
    auto const self = shared_from_this();
    auto go = [self, one = statement_line::waiting{id, std::move(item), std::move(what)}](
                  asker<result<reply>> who) mutable { self->add(std::move(one), std::move(who)); };
    auto stop = [self, id] { self->answer(id, failure(errc::stopped, "cancelled")); };
    return ask<result<reply>>(std::move(go), std::move(stop));
}

void gatherer::add(statement_line::waiting one, asker<result<reply>> who)
{
    {
        std::lock_guard const lock(mutex_);
        asked_.emplace(one.id, std::move(who));
        line_.add(std::move(one));
        if (std::exchange(sends_soon_, true)) return;
    }
    begin_to_send();
}

void gatherer::answer(std::uint64_t id, result<reply> said)
{
    asker<result<reply>> who;
    {
        std::lock_guard const lock(mutex_);
        auto const at = asked_.find(id);
        if (at == asked_.end()) return;
        who = std::move(at->second);
        asked_.erase(at);
    }
    who.tell(std::move(said));
}

void gatherer::answer_all(failure const& why)
{
    std::map<std::uint64_t, asker<result<reply>>> all;
    {
        std::lock_guard const lock(mutex_);
        all.swap(asked_);
        while (line_.size() != 0)
            line_.take();
        sends_soon_ = false;
    }
    for (auto& [id, who] : all)
        who.tell(why);
}

void gatherer::begin_to_send()
{
    auto const ex = client_->get_executor();
    if (!ex) return answer_all(failure(errc::stopped, "the client's context has ended"));
    auto const it = std::make_shared<round>(shared_from_this());
    asio::co_spawn(ex, send(it), [it](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug); // values carry every expected failure: this must not vanish
    });
}

asio::awaitable<void> gatherer::send(std::shared_ptr<round> it)
{
    auto const ex = co_await asio::this_coro::executor;
    auto const timer = time_.make_timer(ex);
    co_await timer->wait_until(time_.now() + linger_);
    auto& taken = it->taken;
    bool has_more = false;
    {
        std::lock_guard const lock(mutex_);
        taken = line_.take();
        it->has_taken = true;
        has_more = line_.size() != 0;
        sends_soon_ = has_more;
    }
    if (has_more) begin_to_send();
    if (taken.size() == 1) {
        answer(taken.front().id, reply());
        co_return;
    }

    std::vector<services::statement> statements;
    for (auto& one : taken)
        statements.push_back(std::move(one.what));
    services::batch_execute_statement_request request(std::move(statements));
    result<services::batch_execute_statement_request::response> said =
        failure(errc::no_credentials, "nothing was asked", true);
    try {
        auto got = co_await client_->batch_execute_statement(std::move(request));
        said = std::move(got);
    } catch (std::exception const& e) { // of a provider of credentials, which may be anybody's
        said = failure(errc::no_credentials, e.what(), true);
    }
    for (std::size_t i = 0; i < taken.size(); ++i) {
        if (said && said->size() == taken.size())
            answer(taken[i].id, reply{false, std::move((*said)[i])});
        else if (said)
            answer(taken[i].id, failure(errc::bad_reply, "an answer of another length than the request"));
        else if (said.error().code == errc::service_error && !said.error().retryable)
            answer(taken[i].id, reply()); // the request as such is refused: each may do better alone
        else
            answer(taken[i].id, said.error());
    }
}

} // namespace quern::idempotency::detail
