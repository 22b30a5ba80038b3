#include "target.hpp"

#include <quern/redrive/filter.hpp>
#include <quern/redrive/plan.hpp>
#include <quern/sqs/limits.hpp>

#include <algorithm>
#include <random>
#include <string>

namespace quern::fuzz {

/// The first line is x-redrive-attempt, the second a condition, the rest the body.
void redrive(std::string_view bytes)
{
    using namespace quern::redrive;
    auto const take_line = [&] {
        auto const line = bytes.substr(0, bytes.find('\n'));
        bytes.remove_prefix(std::min(line.size() + 1, bytes.size()));
        return line;
    };
    auto const attempt = take_line(), condition = take_line();
    sqs::message m;
    m.id = "id";
    m.body = bytes;
    m.attributes = {{"x-redrive-attempt", "String", attempt}, {"own", "Binary", bytes}};
    m.system_attributes = {{"SentTimestamp", attempt}, {"ApproximateFirstReceiveTimestamp", "1700000000000"}};

    std::mt19937_64 random(1);
    route const way{"dead", "orders", "poison"};
    auto const p = plan_for(m, way, plan_policy(), random);
    must(p.what != action::skip, "without a cutoff a message is sent or isolated");
    must(p.copy.body == m.body, "a copy has the body of the message");
    must(p.copy.attributes.at("own").value == bytes, "a copy has the attributes of the message");
    if (p.what == action::send) {
        must(p.attempt == history_of(m).attempts + 1, "an attempt is one more than the last");
        must(p.attempt <= plan_policy().max_attempts, "attempts have an end");
        must(sqs::message_size(p.copy.body, p.copy.attributes) <= sqs::max_message_bytes,
            "a copy fits into a message");
    }

    for (auto const& read : {parse_where, parse_where_body}) {
        auto const one = read(condition);
        if (one) (void)one->holds(m);
        must(one || !one.error().message.empty(), "what makes no sense is told why");
    }
    (void)parse_moment(condition, wall_time());
}

} // namespace quern::fuzz
