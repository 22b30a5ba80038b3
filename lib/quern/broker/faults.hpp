#pragma once

#include <quern/core/error.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace quern::broker {

/// How often what goes wrong, for one operation. Chances are 0 (never) to 1 (always) a request, except where an entry
/// or a message is named. At most one of the faults of the connection and the answer hits a request.
struct fault_rates {
    // carried out by the server
    double latency = 0; ///< answer later by a time drawn evenly from [latency_min, latency_max]
    std::chrono::milliseconds latency_min{0};
    std::chrono::milliseconds latency_max{100};
    double throttled = 0;      ///< RequestThrottled (403); not carried out
    double access_denied = 0;  ///< AccessDenied (403); not carried out
    double server_error = 0;   ///< InternalFailure (500) or ServiceUnavailable (503); not carried out
    double dropped_before = 0; ///< connection closed, not carried out
    double dropped_after = 0;  ///< carried out, then the connection is closed without an answer
    double half_open = 0;      ///< carried out, never answered, connection kept open
    double truncated = 0;      ///< carried out, the answer breaks off
    double slow = 0;           ///< carried out, the answer trickles at slow_bytes_per_second
    int slow_bytes_per_second = 100;

    // carried out by the engine
    double entry_failed = 0;    ///< an entry of a batch: InternalError, sender_fault false, not carried out
    double duplicated = 0;      ///< a received message of a standard queue stays visible as well
    double short_answer = 0;    ///< a receive brings fewer than it might, drawn evenly from one on
    double receipt_expired = 0; ///< a receipt handle counts as expired: nothing is deleted or extended

    bool operator==(fault_rates const&) const = default;
};

struct fault_settings {
    std::uint64_t seed = 1;
    fault_rates everywhere{};                                       ///< operations that are not named below
    std::map<std::string, fault_rates, std::less<>> by_operation{}; ///< "ReceiveMessage": instead of `everywhere`

    /// The first setting that makes no sense, by name.
    [[nodiscard]] std::optional<failure> validate() const;
};

/// Harm that the server does to one request.
enum class transport_fault {
    none,
    throttled,
    access_denied,
    server_error,
    dropped_before,
    dropped_after,
    half_open,
    truncated,
    slow
};

struct request_fault {
    transport_fault what = transport_fault::none;
    int http_status = 0;                  ///< server_error: 500 or 503
    std::chrono::milliseconds latency{0}; ///< before the answer; may come with any `what`
    int bytes_per_second = 0;             ///< slow
};

/// Draws faults from a seed: the same settings and the same calls give the same faults.
class fault_plan {
public:
    fault_plan() : fault_plan(fault_settings{}) {}
    explicit fault_plan(fault_settings);

    fault_settings const& settings() const { return settings_; }

    request_fault on_request(std::string_view operation);
    bool fails_entry(std::string_view operation) { return hits(rates(operation).entry_failed); }
    bool duplicates_message() { return hits(rates("ReceiveMessage").duplicated); }
    int shortened(int most);
    bool expires_receipt(std::string_view operation) { return hits(rates(operation).receipt_expired); }

private:
    fault_rates const& rates(std::string_view operation) const;
    bool hits(double chance) { return chance > 0 && draw() < chance; }
    double draw();

    fault_settings settings_;
    std::mt19937_64 random_;
};

} // namespace quern::broker
