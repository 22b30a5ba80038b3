// That the days of redrives bite: a redriver with any one of these flaws is found out.

#include "simulation/redrive/redrive_day.hpp"
#include <quern/sqs/forwarding_api.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>
#include <utility>

using namespace quern;

namespace {

namespace asio = boost::asio;

constexpr std::uint64_t seeds_until_found = 60;

/// A flaw of whoever sends and deletes.
enum class flaw { confirms_unsent, ignores_refusals, mixes_sources, forgets_attempts };

using batch = sqs::send_message_batch_request;
using batch_response = sqs::send_message_batch_response;

class flawed_api final : public sqs::forwarding_api<flawed_api> {
public:
    flawed_api(sqs::api& real, asio::any_io_executor ex, flaw which) : real_(real), ex_(std::move(ex)), which_(which)
    {}

    template <class Request>
    sqs::answer<typename Request::response> carry(Request request)
    {
        auto said = co_await sqs::perform(real_, std::move(request));
        if constexpr (std::same_as<Request, sqs::list_dead_letter_source_queues_request>)
            if (said) sources_ = said->queue_urls;
        co_return said;
    }

    sqs::answer<batch_response> carry(batch request)
    {
        if (which_ == flaw::mixes_sources && std::ranges::count(sources_, request.queue_url) != 0)
            request.queue_url = sources_.front();
        for (auto& one : request.entries)
            if (which_ == flaw::forgets_attempts) one.attributes.erase("x-redrive-attempt");
        auto const asked = request;
        if (which_ == flaw::confirms_unsent) {
            auto work = sqs::perform(real_, std::move(request));
            asio::co_spawn(ex_, std::move(work), [](std::exception_ptr, auto const&) {});
            co_return all_done(asked);
        }
        auto said = co_await sqs::perform(real_, std::move(request));
        if (said && which_ == flaw::ignores_refusals) co_return all_done(asked);
        co_return said;
    }

private:
    static batch_response all_done(batch const& asked)
    {
        batch_response out;
        for (auto const& one : asked.entries)
            out.successful.emplace_back().id = one.id;
        return out;
    }

    sqs::api& real_;
    asio::any_io_executor ex_;
    flaw const which_;
    std::vector<std::string> sources_;
};

sim::redrive_seams with(flaw which)
{
    sim::redrive_seams out;
    out.api = [which](sqs::api& real, asio::any_io_executor ex) {
        return std::make_unique<flawed_api>(real, std::move(ex), which);
    };
    return out;
}

/// A file that says it has kept what it keeps with the next write.
class forgetful_file final : public redrive::journal_file {
public:
    explicit forgetful_file(std::unique_ptr<journal_file> real) : real_(std::move(real)) {}

    result<void> read(piece_reader const& take) override { return real_->read(take); }
    result<void> append(std::string_view text) override
    {
        auto const before = std::exchange(held_, std::string(text));
        auto const is_last = text.find("\"Execution") != text.npos;
        return is_last ? real_->append(before + std::exchange(held_, {})) : real_->append(before);
    }
    result<void> cut(std::size_t size) override { return real_->cut(size); }
    bool is_cancelled() override { return real_->is_cancelled(); }
    void forget_cancel() override { real_->forget_cancel(); }

private:
    std::unique_ptr<journal_file> real_;
    std::string held_;
};

sim::redrive_seams forgetful()
{
    sim::redrive_seams out;
    out.file = [](std::unique_ptr<redrive::journal_file> real) {
        return std::make_unique<forgetful_file>(std::move(real));
    };
    return out;
}

struct expectation {
    char const* flaw;
    sim::redrive_seams seams;
    char const* scenario;
    char const* violation; ///< a part of it
};

/// The first seed that shows it; 0: none.
std::uint64_t found_out(expectation const& e)
{
    for (std::uint64_t seed = 1; seed <= seeds_until_found; ++seed) {
        auto const got = sim::run(sim::draw_redrive(e.scenario, seed), false, e.seams);
        auto const is_it = [&](std::string const& v) { return v.find(e.violation) != std::string::npos; };
        if (std::ranges::any_of(got.violations, is_it)) return seed;
    }
    return 0;
}

} // namespace

BOOST_AUTO_TEST_SUITE(redrive_days)

BOOST_AUTO_TEST_CASE(every_flaw_is_found_out)
{
    expectation const expectations[] = {
        {"deletes before the send is confirmed", with(flaw::confirms_unsent), "redrive",
            "no other queue has confirmed"},
        {"deletes before the send is confirmed", with(flaw::confirms_unsent), "redrive-journal", "is lost"},
        {"takes refused entries for sent", with(flaw::ignores_refusals), "redrive", "no other queue has confirmed"},
        {"sends all to one source", with(flaw::mixes_sources), "redrive", "is sent to a queue that is not its own"},
        {"counts no attempts", with(flaw::forgets_attempts), "redrive-fifo", "none is dead that has one less"},
        {"forgets to flush its journal", forgetful(), "redrive-journal", "messages are there twice"},
    };
    for (auto const& one : expectations) {
        auto const seed = found_out(one);
        BOOST_TEST(seed != 0u, one.flaw << ", in " << one.scenario);
        BOOST_TEST_MESSAGE(one.flaw << ": " << one.scenario << ", seed " << seed);
    }
}

BOOST_AUTO_TEST_SUITE_END()
