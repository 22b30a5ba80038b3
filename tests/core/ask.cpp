#include <quern/core/detail/ask.hpp>
#include <quern/core/detail/compact_strand.hpp>

#include "support/run.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace quern::detail;

namespace {

/// Somebody on another executor who is asked, and answers when he is told to.
struct oracle {
    explicit oracle(asio::any_io_executor ex) : strand(compact_strand::on(std::move(ex))) {}

    static asio::awaitable<std::string> question(std::shared_ptr<oracle> of)
    {
        auto begin = [of](asker<std::string> who) {
            asio::post(of->strand, [of, who = std::move(who)] { of->waiting.push_back(who); });
        };
        auto cancel = [of] {
            asio::post(of->strand, [of] {
                for (auto const& each : of->waiting)
                    each.tell("never mind");
            });
        };
        return ask<std::string>(std::move(begin), std::move(cancel));
    }

    compact_strand strand;
    std::vector<asker<std::string>> waiting;
};

struct canary {
    bool& gone;
    ~canary() { gone = true; }
};

/// Owns whom it asks, who keeps the asker.
asio::awaitable<void> ask_in_vain(asio::any_io_executor where, bool& gone)
{
    canary const here{gone};
    auto const own = std::make_shared<oracle>(std::move(where));
    auto const said = co_await oracle::question(own);
    BOOST_ERROR("nobody was to say " << said);
}

auto const rethrow = [](std::exception_ptr e) {
    if (e) std::rethrow_exception(e);
};

} // namespace

BOOST_AUTO_TEST_SUITE(asking)

BOOST_AUTO_TEST_CASE(the_answer_arrives_on_the_callers_executor)
{
    asio::io_context home;
    asio::thread_pool elsewhere(2);
    auto const wise = std::make_shared<oracle>(elsewhere.get_executor());
    auto begin = [wise](asker<std::thread::id> who) {
        asio::post(wise->strand, [who] { who.tell(std::this_thread::get_id()); });
    };
    auto caller = [](auto how) -> asio::awaitable<bool> {
        auto const answered_on = co_await ask<std::thread::id>(std::move(how));
        co_return answered_on != std::this_thread::get_id();
    };
    auto const here = std::this_thread::get_id();
    auto told = asio::co_spawn(home, caller(begin), asio::use_future);
    home.run(); // has work until the answer comes
    BOOST_TEST(told.get());
    BOOST_TEST(here == std::this_thread::get_id());
}

BOOST_AUTO_TEST_CASE(the_first_of_several_answers_counts)
{
    auto begin = [](asker<int> who) {
        auto const copy = who;
        copy.tell(1);
        who.tell(2);
        who.fail(asio::error::eof);
    };
    BOOST_TEST(run(ask<int>(begin)) == 1);
}

BOOST_AUTO_TEST_CASE(when_nobody_is_left_to_answer_the_question_ends)
{
    auto const lost = run(ask<result<int>>([](asker<result<int>> const&) {}));
    BOOST_TEST(lost.error().code == make_error_code(errc::stopped));
    BOOST_CHECK_EXCEPTION(run(ask<int>([](asker<int> const&) {})), boost::system::system_error,
        [](auto const& e) { return e.code() == asio::error::operation_aborted; });
}

BOOST_AUTO_TEST_CASE(a_failure_is_thrown_at_the_caller)
{
    auto begin = [](asker<int> const& who) { who.fail(asio::error::eof); };
    BOOST_CHECK_EXCEPTION(run(ask<int>(begin)), boost::system::system_error,
        [](auto const& e) { return e.code() == asio::error::eof; });
}

BOOST_AUTO_TEST_CASE(a_cancelled_question_ends_as_whoever_is_asked_says)
{
    asio::io_context io;
    auto const wise = std::make_shared<oracle>(io.get_executor());
    asio::cancellation_signal cancel;
    std::string said;
    asio::co_spawn(io, oracle::question(wise),
        asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr, std::string got) { said = got; }));
    io.poll();
    BOOST_TEST(wise->waiting.size() == 1u);
    cancel.emit(asio::cancellation_type::terminal);
    io.restart();
    io.run();
    BOOST_TEST(said == "never mind");
}

// It leaked: the asker kept the coroutine that kept the asker.
BOOST_AUTO_TEST_CASE(a_coroutine_that_owns_whom_it_asks_ends_with_its_context)
{
    bool gone = false;
    {
        asio::io_context io;
        asio::co_spawn(io, ask_in_vain(io.get_executor(), gone), rethrow);
        io.poll();
        BOOST_TEST(!gone);
    }
    BOOST_TEST(gone);
}

BOOST_AUTO_TEST_CASE(either_context_may_end_first)
{
    for (bool const home_first : {true, false}) {
        std::optional<asio::io_context> home(std::in_place), elsewhere(std::in_place);
        bool gone = false;
        bool ended = false;
        auto const done = [&](std::exception_ptr) { ended = true; };
        asio::co_spawn(*home, ask_in_vain(elsewhere->get_executor(), gone), done);
        home->poll();
        elsewhere->poll();
        (home_first ? home : elsewhere).reset();
        if (!home_first) home->poll();
        BOOST_TEST(gone == home_first);
        BOOST_TEST(!ended);
        home.reset();
        BOOST_TEST(gone);
    }
}

BOOST_AUTO_TEST_CASE(an_answer_to_a_context_that_has_ended_goes_nowhere)
{
    asio::io_context elsewhere;
    auto const wise = std::make_shared<oracle>(elsewhere.get_executor());
    {
        asio::io_context home;
        asio::co_spawn(home, oracle::question(wise), asio::use_future);
        home.poll();
        elsewhere.poll();
    }
    BOOST_REQUIRE(wise->waiting.size() == 1u);
    wise->waiting[0].tell("too late");
}

BOOST_AUTO_TEST_CASE(answers_and_the_end_of_the_context_may_meet)
{
    asio::thread_pool pool(2);
    auto const wise = std::make_shared<oracle>(pool.get_executor());
    std::atomic<int> answered{0};
    for (int round = 0; round < 300; ++round) {
        asio::io_context home;
        for (int i = 0; i < 8; ++i) {
            asio::co_spawn(home, oracle::question(wise), [&](std::exception_ptr, std::string const&) { ++answered; });
        }
        home.poll();
        asio::post(wise->strand, [wise] {
            for (auto const& each : wise->waiting)
                each.tell("yes");
            wise->waiting.clear();
        });
        if (round % 2 == 0) home.run_one();
    }
    pool.join();
    BOOST_TEST(answered > 0);
}

BOOST_AUTO_TEST_SUITE_END()
