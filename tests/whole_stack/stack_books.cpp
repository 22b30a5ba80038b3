#include "stack_books.hpp"

#include "virtual_libc.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace quern::test {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

milliseconds request_timeout(stack_day const& day)
{
    return std::min<milliseconds>(10s, milliseconds(day.visibility) / 6);
}

namespace {

constexpr milliseconds receive_slack = 5s; // the client's default
constexpr int most_attempts = 5;           // three, and second chances: other keys, another time

std::string more_than(std::size_t is, std::size_t most)
{
    return std::to_string(is) + ", more than " + std::to_string(most);
}

} // namespace

class stack_books::requests final : public sqs::request_observer {
public:
    requests(stack_books& books, int process) : books_(books), process_(process) {}

    void request_done(sqs::observed_request const& r) override { books_.requested(process_, r); }

private:
    stack_books& books_;
    int const process_;
};

std::shared_ptr<sqs::request_observer> stack_books::of_process(int id)
{
    return std::make_shared<requests>(*this, id);
}

void stack_books::hide(std::uint16_t port)
{
    ports_.push_back(std::to_string(port));
}

void stack_books::note(std::string const& what)
{
    char at[32];
    std::snprintf(at, sizeof at, "%.3f s  ", std::chrono::duration<double>(virtual_time::now()).count());
    auto line = at + what;
    for (auto const& port : ports_) {
        for (auto found = line.find(port); found != line.npos; found = line.find(port))
            line.replace(found, port.size(), "PORT");
    }
    result_.trace.push_back(std::move(line));
}

void stack_books::complain(std::string const& what)
{
    note("VIOLATION: " + what);
    result_.violations.push_back(result_.trace.back());
}

void stack_books::excuse_for(std::chrono::nanoseconds length)
{
    fair_from_ = std::max(fair_from_, virtual_time::now() + length);
}

void stack_books::logged(int process, log_level level, std::string const& text)
{
    note("process " + std::to_string(process) + ": " + text);
    if (level >= log_level::warning && virtual_time::now() >= day_.calm_from) ++warnings_in_calm_;
}

void stack_books::requested(int process, sqs::observed_request const& r)
{
    ++result_.requests;
    auto const who = "process " + std::to_string(process) + ": " + std::string(r.operation);
    if (r.why) note(who + " fails after " + std::to_string(r.attempts) + ": " + describe(*r.why));
    auto const polls = r.operation == "ReceiveMessage";
    auto const limit = polls ? milliseconds(day_.wait) + receive_slack : request_timeout(day_);
    auto const each = polls ? 2 * limit : limit; // a poll has all of it once it is connected
    auto const most = std::max(1, r.attempts) * (each + 20s) + keys_wait_;
    if (r.attempts > most_attempts) complain(who + " is tried " + std::to_string(r.attempts) + " times");
    if (r.took > most) complain(who + " takes " + std::to_string(r.took / 1s) + " s");
    auto const least = polls ? receive_slack : limit - 1ms;
    if (r.why && r.why->code == errc::timed_out && r.took < least)
        complain(who + " times out after " + std::to_string(r.took / 1ms) + " ms");
    if (virtual_time::now() - r.took < fair_from_) return;
    if (r.why && r.why->code != errc::stopped) complain(who + " fails in fair weather: " + describe(*r.why));
    if (!polls && r.took > 1s) complain(who + " takes " + std::to_string(r.took / 1ms) + " ms in fair weather");
}

stack_result stack_books::close(totals const& all)
{
    result_.lasted = virtual_time::now();
    result_.connections = all.connections;
    if (warnings_in_calm_ != 0 && day_.fails == 0)
        complain(std::to_string(warnings_in_calm_) + " warnings in calm weather");
    auto const seconds = static_cast<std::size_t>(result_.lasted / 1s);
    auto const most_connections = 100 * all.lives + 3 * seconds * day_.processes;
    if (all.connections > most_connections) complain("connections: " + more_than(all.connections, most_connections));
    auto const renewals = 2 * seconds / static_cast<std::size_t>(day_.keys_last.count()) + 1;
    auto const most_asked = 10 + all.lives * (4 + renewals + (keys_wait_ > 0s ? 20 : 0));
    if (all.keys_asked > most_asked) complain("questions for keys: " + more_than(all.keys_asked, most_asked));
    auto const most_refused = 40 * (all.lives + all.skews);
    if (all.refused > most_refused) complain("requests refused: " + more_than(all.refused, most_refused));
    return std::move(result_);
}

} // namespace quern::test
