#include <quern/sim/local_api.hpp>

#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <map>
#include <optional>
#include <utility>

namespace quern::sim {

namespace asio = boost::asio;

/// The long polls that wait in the engine, and the loop that lets its time pass.
class local_api::polls : public std::enable_shared_from_this<polls> {
public:
    polls(broker::engine& engine, clock& time, asio::any_io_executor ex)
        : engine_(engine), time_(time), executor_(std::move(ex)), changed_(time, executor_)
    {}

    void start()
    {
        asio::co_spawn(executor_, keep_time(shared_from_this()), [](std::exception_ptr bug) {
            if (bug) std::rethrow_exception(bug);
        });
    }

    void stop()
    {
        stopped_ = true;
        changed_.ring();
    }

    /// A call may have ended polls, and have changed when the next thing is due.
    void after_call()
    {
        hand_out();
        changed_.ring();
    }

    sqs::answer<sqs::receive_message_response> end_of(broker::poll_id id)
    {
        auto const self = shared_from_this();
        waiter mine(time_, executor_);
        waiting_.emplace(id, &mine);
        struct forget {
            std::map<broker::poll_id, waiter*>& from;
            broker::poll_id id;
            ~forget() { from.erase(id); }
        } const forgotten{waiting_, id};
        co_await mine.bell.wait();
        if (!mine.answer) co_return failure(errc::stopped, "cancelled in a long poll");
        co_return std::move(*mine.answer);
    }

private:
    struct waiter {
        waiter(clock& time, asio::any_io_executor ex) : bell(time, std::move(ex)) {}
        alarm bell;
        std::optional<result<sqs::receive_message_response>> answer;
    };

    void hand_out()
    {
        while (auto ready = engine_.take_ready()) {
            auto const at = waiting_.find(ready->id);
            if (at == waiting_.end()) continue; // its caller is gone: the messages stay hidden, as in the service
            at->second->answer.emplace(std::move(ready->answer));
            at->second->bell.ring();
        }
    }

    static asio::awaitable<void> keep_time(std::shared_ptr<polls> self)
    {
        while (!self->stopped_) {
            self->engine_.advance(self->time_.wall());
            self->hand_out();
            std::optional<tick> next;
            if (auto const event = self->engine_.next_event()) {
                next = self->time_.now() + std::chrono::ceil<tick::duration>(*event - self->time_.wall());
            }
            co_await self->changed_.wait(next);
        }
    }

    broker::engine& engine_;
    clock& time_;
    asio::any_io_executor executor_;
    alarm changed_;
    std::map<broker::poll_id, waiter*> waiting_;
    bool stopped_ = false;
};

local_api::local_api(broker::engine& engine, clock& time, asio::any_io_executor ex)
    : engine_(engine), time_(time), polls_(std::make_shared<polls>(engine, time, std::move(ex)))
{
    polls_->start();
}

local_api::~local_api()
{
    polls_->stop();
}

template <class T>
local_api::answer<T> local_api::done(result<T> got)
{
    polls_->after_call();
    co_return std::move(got);
}

template <class Request>
local_api::answer<typename Request::response> local_api::carry(Request request)
{
    return done(sqs::perform(engine_, std::move(request), time_.wall()));
}

local_api::answer<sqs::receive_message_response> local_api::carry(sqs::receive_message_request r)
{
    auto got = engine_.receive_message(std::move(r), time_.wall());
    polls_->after_call();
    if (!got) co_return got.error();
    if (!got->parked) co_return std::move(got->answer);
    co_return co_await polls_->end_of(*got->parked);
}

} // namespace quern::sim

template class quern::sqs::forwarding_api<quern::sim::local_api>;
