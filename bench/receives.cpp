// What consumer_options::receive_latency costs, in virtual time: messages arrive at random for a minute, SQS answers
// after 10 ms, and nothing else is in the way. The same figures to the digit, always.
#include "consumer/arrival_model.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;

/// Dollars in 30 days for so many requests a second: 0.40 for a million (Amazon SQS pricing, standard queues).
double a_month(double requests)
{
    return requests * 86'400 * 30 * 0.4e-6;
}

} // namespace

int main()
{
    std::vector const latencies{0ms, 5ms, 20ms, 50ms, 200ms};
    std::string head = "| messages a second |", rule = "|---|";
    for (auto const latency : latencies) {
        head += " " + std::to_string(latency.count()) + " ms |";
        rule += "---|";
    }
    std::printf("%s\n%s\n", head.c_str(), rule.c_str());
    for (auto const rate : {10, 50, 200, 1'000, 5'000, 10'000}) {
        std::printf("| %d |", rate);
        for (auto const latency : latencies) {
            auto const got = quern::test::receive_what_arrives(rate, 10ms, quern::test::full_answer, latency, 60s);
            std::printf(
                " %.2f, %.0f ms, $%.0f |", got.receives_each, got.mean.count(), a_month(got.receives_each * rate));
        }
        std::printf("\n");
    }
}
