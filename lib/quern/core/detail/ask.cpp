#include <quern/core/detail/ask.hpp>

#include <quern/core/lodgers.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <atomic>

namespace quern::detail {

namespace {

namespace asio = boost::asio;

/// A coroutine that has asked.
template <class Handler>
class absentee final : public lodgers::lodger {
public:
    explicit absentee(Handler caller)
        : home_(asio::prefer(asio::require(asio::any_io_executor(asio::get_associated_executor(caller)),
                                 asio::execution::blocking.never),
              asio::execution::outstanding_work.tracked)),
          caller_(std::move(caller))
    {}

    /// (Not asio::post: no copy of the executor may end its life on this thread. ThreadSanitizer does not see the
    /// fence by which Asio counts them.)
    static void resume(std::shared_ptr<absentee> who, std::exception_ptr thrown, bool answered)
    {
        auto const& home = who->home_;
        auto const keep = who;
        home.execute([who = std::move(who), thrown = std::move(thrown), answered]() mutable {
            asio::get_associated_cancellation_slot(who->caller_).clear();
            std::move(who->caller_)(std::move(thrown), answered);
        });
    }

private:
    asio::any_io_executor const home_; // does not run out of work meanwhile
    Handler caller_;
};

template <class Handler>
class question_of final : public question {
public:
    explicit question_of(Handler caller)
    {
        auto& home = asio::query(asio::get_associated_executor(caller), asio::execution::context);
        at_ = lodgers::move_in(home, std::make_shared<absentee<Handler>>(std::move(caller)));
    }
    ~question_of() override
    {
        if (take()) resume({}, false);
    }

    bool take() override { return !taken_.exchange(true); }
    void finish(std::exception_ptr thrown) override { resume(std::move(thrown), true); }

private:
    void resume(std::exception_ptr thrown, bool answered)
    {
        lodgers::visit at(at_, lodgers::purpose::move_out);
        if (!at.who) return;
        auto one = std::static_pointer_cast<absentee<Handler>>(std::move(at.who));
        absentee<Handler>::resume(std::move(one), std::move(thrown), answered);
    }

    lodgers::place at_;
    std::atomic<bool> taken_{false};
};

} // namespace

asio::awaitable<bool> put_question(std::function<void(question_ptr)> begin, std::function<void()> cancel)
{
    auto start = [](auto caller, std::function<void(question_ptr)> at_begin, std::function<void()> at_cancel) {
        if (auto slot = asio::get_associated_cancellation_slot(caller); at_cancel && slot.is_connected())
            slot.assign([stop = std::move(at_cancel)](asio::cancellation_type) { stop(); });
        auto one = std::make_shared<question_of<decltype(caller)>>(std::move(caller));
        at_begin(std::move(one));
    };
    return asio::async_initiate<asio::use_awaitable_t<> const, void(std::exception_ptr, bool)>(
        std::move(start), asio::use_awaitable, std::move(begin), std::move(cancel));
}

} // namespace quern::detail
