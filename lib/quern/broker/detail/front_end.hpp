#pragma once

#include <quern/aws/detail/signing/verify.hpp>
#include <quern/broker/detail/cors.hpp>
#include <quern/broker/detail/http_answer.hpp>
#include <quern/broker/detail/metrics.hpp>
#include <quern/broker/detail/wire_decode.hpp>
#include <quern/broker/engine.hpp>
#include <quern/broker/server_options.hpp>
#include <quern/net/detail/http_request.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::broker::detail {

/// Result of a request.
struct served {
    bool let_in = false;           ///< the caller is who it says, or nobody asks
    std::optional<poll_id> parked; ///< set: the answer is still to come, see finish_poll()
    request_fault fault;           ///< what to do to the answer or the connection
    std::string_view operation;    ///< empty when the request named none of ours
};

/// From an HTTP request to an answer: who asks, for what, the engine's word, in the protocol of the request. No I/O.
class front_end {
public:
    front_end(engine_options, server_options const&);

    engine& queues() { return queues_; }
    engine const& queues() const { return queues_; }

    /// Whether the request will be refused whatever its body is, as its header shows.
    bool refuses(net::detail::http_request const&, wall_time calendar);

    /// Carries the request out. `origin` is where the broker listens: it stands in QueueUrls when there is no Host.
    served serve(
        net::detail::http_request const&, std::string_view origin, instant now, wall_time calendar, http_answer&);

    /// Writes the answer of a poll that was parked.
    static void finish_poll(result<sqs::receive_message_response> const&, http_answer&);

    /// A request was answered so; 0: not at all.
    void count(std::string_view name, int status) { ++answers_[{name, status}]; }
    answer_counts const& answers() const { return answers_; }

    /// The text of /metrics; empty by default.
    void show_metrics(std::function<std::string()> text) { metrics_ = std::move(text); }

    static constexpr std::size_t operation_count = 23;
    static std::string_view operation_name(std::size_t index);
    std::uint64_t requests(std::size_t index) const { return requests_[index]; } ///< of that operation, so far

private:
    struct call;
    template <auto Operation>
    static std::optional<poll_id> carry_out(call&);
    struct operation;
    static operation const operations[operation_count];

    static operation const* find(std::string_view name);
    [[nodiscard]] std::optional<failure> refusal_of_query(net::detail::http_request const&) const;
    [[nodiscard]] std::optional<failure> refusal_of_look(net::detail::http_request const&) const;
    std::optional<poll_id> serve_operation(operation const&, net::detail::http_request const&, std::string_view body,
        std::string_view origin, instant now, served&, http_answer&);
    [[nodiscard]] std::optional<failure> admit(
        operation const*, net::detail::http_request const&, wall_time calendar, served&);
    [[nodiscard]] std::optional<failure> refusal_of_headers(net::detail::http_request const&) const;
    aws::detail::request_view const& show(net::detail::http_request const&);
    [[nodiscard]] std::optional<failure> identify(net::detail::http_request const&, wall_time calendar);
    caller caller_of(net::detail::http_request const&);

    engine queues_;
    bool local_hosts_only_;
    std::vector<std::string> hosts_; ///< let in beside local ones
    cors_rule cors_;
    bool admin_;
    std::function<std::string()> metrics_ = [] { return std::string(); };
    answer_counts answers_; ///< operations are those of the table below
    bool one_region_;
    std::map<std::string, std::string, std::less<>> accounts_; ///< by access key id
    std::optional<aws::detail::verifier> verifier_;            ///< none: everyone is let in
    aws::detail::request_view shown_;                          ///< to the verifier; kept for its buffer
    wire_decoder decoder_;
    std::array<std::uint64_t, operation_count> requests_{};
    std::uint64_t html_pages_ = 0;
};

/// Writes an error as SQS does: JSON body, status, x-amzn-query-error; or XML.
void write_failure(failure const&, http_answer&);

} // namespace quern::broker::detail
