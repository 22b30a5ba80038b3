#pragma once

#include "day.hpp"

#include <quern/sqs/request_observer.hpp>
#include <quern/telemetry/log.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace quern::test {

/// Limit of a request, as a consumer sets it: two attempts within the third of a lease that is left at its extension.
std::chrono::milliseconds request_timeout(stack_day const&);

/// Record of a day, and judge of its promises.
class stack_books {
public:
    explicit stack_books(stack_day const& day) : day_(day) {}

    void note(std::string const& what);                            ///< into the trace
    void complain(std::string const& what);                        ///< a broken promise
    bool is_broken() const { return !result_.violations.empty(); } ///< there is no need to go on
    void hide(std::uint16_t port);                                 ///< in the trace: it is another each time

    /// Requests that begin later than that have no excuse, until something happens again.
    void excuse_for(std::chrono::nanoseconds length);
    void keys_may_take(std::chrono::nanoseconds more) { keys_wait_ = more; }

    /// Hears of the requests of that process. The books outlive it.
    std::shared_ptr<sqs::request_observer> of_process(int id);
    void logged(int process, log_level, std::string const& text);

    struct totals {
        std::size_t lives = 0, connections = 0, keys_asked = 0, refused = 0, skews = 0;
    };
    stack_result close(totals const&);

private:
    class requests;
    void requested(int process, sqs::observed_request const&);

    stack_day const& day_;
    stack_result result_;
    std::vector<std::string> ports_;
    std::chrono::nanoseconds keys_wait_{}, fair_from_{};
    std::size_t warnings_in_calm_ = 0;
};

} // namespace quern::test
