#pragma once

#include "files.hpp"
#include "report.hpp"

#include <quern/aws/web.hpp>

#include <map>

namespace quern::conformance {

/// Answers requests with recorded ones, in their order. A request that differs from the recorded one fails the case;
/// so does one that nobody has recorded. Left out of the comparison: what depends on the time and the program
/// (signatures, agents, lengths, names of sessions).
class recorded_web final : public aws::web {
public:
    /// `traffic`: as in the files http-traffic.json; null for none.
    recorded_web(json::value const& traffic, checked_case& verdict);

    boost::asio::awaitable<result<net::response>> send(aws::web_request) override;

    /// Recorded exchanges that nobody has asked for.
    std::size_t left() const { return exchanges_.size() - next_; }

private:
    struct exchange {
        json::value request;
        std::string body;
        json::value response;
        std::string answer;
    };
    void compare(exchange const& recorded, aws::web_request const& sent);

    std::vector<exchange> exchanges_;
    std::size_t next_ = 0;
    checked_case& verdict_;
};

} // namespace quern::conformance
