// A handler handed its delivery to work that outlived it: what that work asked for came too late, or read freed
// memory.

#undef NDEBUG // also where everything else is compiled for release

#include "consumer/mill.hpp"

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

struct dying : mill {
    /// Last words of a child process that does it; empty when it lives on.
    template <class Do>
    static std::string last_words(Do it)
    {
        int ends[2];
        BOOST_REQUIRE(::pipe(ends) == 0);
        auto const child = ::fork();
        if (child == 0) {
            ::dup2(ends[1], STDERR_FILENO);
            std::signal(SIGABRT, SIG_DFL);
            it();
            ::_exit(0);
        }
        ::close(ends[1]);
        std::string out;
        char some[256];
        for (auto n = ::read(ends[0], some, sizeof some); n > 0; n = ::read(ends[0], some, sizeof some))
            out.append(some, static_cast<std::size_t>(n));
        ::close(ends[0]);
        int how = 0;
        ::waitpid(child, &how, 0);
        auto const died = WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT;
        return died ? out : std::string();
    }

    template <class Do>
    static bool is_caught(Do it)
    {
        return last_words(it).find("after its handler has ended") != std::string::npos;
    }

    delivery* kept = nullptr; // by a handler that has ended, while the delete of its message hangs

    void keep_one()
    {
        send(1);
        api.on_delete = [] { return std::optional<failure>(failure(errc::timed_out, "no answer", true)); };
        consume([this](delivery& d) -> asio::awaitable<outcome> {
            auto const said = co_await d.extend(1s);
            BOOST_TEST(said.has_value());
            kept = &d;
            co_return ack();
        });
        BOOST_REQUIRE(until(1s, [this] { return kept && running == 0 && api.deletes != 0; }));
    }
};

/// Keeps a message here whose handler finds something down, and hands it out again at once.
struct keeping_gate : gate {
    std::optional<std::uint64_t> kept;

    std::size_t room(tick) override { return 10; }
    std::optional<double> rate(tick) override { return {}; }
    answer ask(subject const&, tick) override { return {}; }
    void started(subject const&, tick) override {}
    answer ended(subject const& s, news const& what, tick) override
    {
        if (what.what != news::sign::down) return {};
        kept = s.number;
        return {answer::way::wait_here};
    }
    std::optional<leave> due(bool may_begin, tick) override
    {
        if (!may_begin || !kept) return {};
        return leave{*std::exchange(kept, {}), {}};
    }
    std::optional<tick> wake_at(tick now) override { return kept ? std::optional(now) : std::nullopt; }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(used_too_late, dying)

BOOST_AUTO_TEST_CASE(an_operation_that_is_begun_after_the_end_of_the_handler_asserts)
{
    keep_one();
    BOOST_TEST(is_caught([this] { std::ignore = kept->ack(); }));
    BOOST_TEST(is_caught([this] { std::ignore = kept->extend(1min); }));
    BOOST_TEST(is_caught([this] { std::ignore = kept->guard_lease(nullptr); }));
    BOOST_TEST(last_words([this] { std::ignore = kept->remaining(); }).empty());
}

BOOST_AUTO_TEST_CASE(a_message_that_an_outage_has_kept_is_handled_again)
{
    options.outage.gate = std::make_shared<keeping_gate>();
    send(1);
    int times = 0;
    consume([&](delivery& d) -> asio::awaitable<outcome> {
        if (++times == 1) co_return unavailable();
        auto const said = co_await d.extend(1s);
        BOOST_TEST(said.has_value());
        co_return ack();
    });
    BOOST_TEST(until(1h, [this] { return empty() && it->in_flight() == 0; }));
    BOOST_TEST(times == 2);
    BOOST_TEST(runs.at("m0") == 2);
    BOOST_TEST(it->counters().adopted + it->counters().retried == 0u); // it was the same delivery
}

BOOST_AUTO_TEST_SUITE_END()
