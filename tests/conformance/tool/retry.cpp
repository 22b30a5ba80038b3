#include "suites.hpp"

#include <quern/aws/detail/error_reply.hpp>
#include <quern/aws/retry.hpp>

#include <boost/json.hpp>

#include <optional>

namespace quern::conformance {
namespace {

using seconds = std::chrono::duration<double>;
using verdict = aws::retry_advice::verdict;

std::chrono::milliseconds milliseconds_at(
    json::value const& in, std::string_view member, std::chrono::milliseconds fallback)
{
    return std::chrono::round<std::chrono::milliseconds>(seconds(number_at(in, member, seconds(fallback).count())));
}

aws::retry_options options_in(json::value const& given)
{
    aws::retry_options options;
    if (text_at(given, "service") == "dynamodb") {
        options.max_attempts = 4;
        options.transient_base = std::chrono::milliseconds(25);
    }
    auto const usual = options.max_attempts.value_or(aws::usual_attempts);
    options.max_attempts = static_cast<int>(number_at(given, "max_attempts", usual));
    options.max_backoff = milliseconds_at(given, "max_backoff_time", options.max_backoff);
    return options;
}

std::string_view name_of(verdict v)
{
    switch (v) {
    case verdict::again: return "retry_request";
    case verdict::final_error: return "fail_request";
    case verdict::out_of_attempts: return "max_attempts_exceeded";
    case verdict::out_of_quota: return "retry_quota_exceeded";
    }
    return "?";
}

failure failure_in(json::value const& response)
{
    net::headers fields;
    auto const code = text_at(response, "error_code");
    if (!code.empty()) fields.add("x-amzn-errortype", code);
    return aws::detail::decode_error(static_cast<int>(number_at(response, "status_code", 0)), fields, "");
}

/// Calls one after another over one quota, told what each attempt was answered.
class client {
public:
    client(json::value const& given, aws::retry_quota& quota)
        : options_(options_in(given)), jitter_(number_at(given, "exponential_base", 1)),
          long_poll_(flag_at(given, "long_polling")), quota_(quota)
    {}

    void answer(json::value const& step, checked_case& out)
    {
        auto const& expected = step.at("expected");
        auto const& response = step.at("response");
        if (!call_) call_.emplace(options_, quota_, long_poll_);
        std::string_view outcome = "success";
        seconds wait{};
        if (number_at(response, "status_code", 0) == 200) {
            call_->succeeded();
            call_.reset();
        } else {
            auto const* const headers = find(response, "headers");
            auto const hint = headers ? text_at(*headers, "x-amz-retry-after") : std::string();
            auto const advice = call_->failed(failure_in(response), aws::parse_retry_after(hint), jitter_);
            outcome = name_of(advice.is);
            wait = advice.wait;
            if (advice.is != verdict::again) call_.reset();
        }
        out.equal("outcome", text_at(expected, "outcome"), outcome);
        if (find(expected, "retry_quota")) {
            out.equal_number("retry_quota", number_at(expected, "retry_quota", 0), quota_.left());
        }
        bool const is_unsaid = outcome == "retry_request" && !find(expected, "delay");
        if (!is_unsaid) out.equal_number("delay", number_at(expected, "delay", 0), wait.count());
    }

private:
    aws::retry_options options_;
    double jitter_;
    bool long_poll_;
    aws::retry_quota& quota_;
    std::optional<aws::retries> call_;
};

aws::retry_quota quota_in(json::value const& given)
{
    int const capacity = aws::retry_options().quota;
    return {capacity, static_cast<int>(number_at(given, "initial_retry_tokens", capacity))};
}

void run_scenario(json::value const& scenario, checked_case& out)
{
    auto const& given = scenario.at("given");
    auto quota = quota_in(given);
    client caller(given, quota);
    for (auto const& step : list_at(scenario, "responses"))
        caller.answer(step, out);
}

/// The threads' steps in the order that the expected quotas tell: the lower one first while the quota sinks, so a
/// failure before a success.
void run_threads(json::value const& scenario, checked_case& out)
{
    auto const& given = scenario.at("given");
    auto quota = quota_in(given);
    struct thread {
        client caller;
        std::vector<json::value> steps;
        std::size_t next = 0;
    };
    std::vector<thread> threads;
    for (auto const& steps : scenario.at("threads").as_array()) {
        threads.push_back({client(given, quota), {steps.as_array().begin(), steps.as_array().end()}});
    }
    auto const distance = [&](thread const& t) {
        return std::abs(number_at(t.steps[t.next].at("expected"), "retry_quota", 0) - quota.left());
    };
    auto const fails_next = [](thread const& t) {
        return number_at(t.steps[t.next].at("response"), "status_code", 0) != 200;
    };
    for (;;) {
        thread* turn = nullptr;
        for (auto& t : threads) {
            if (t.next == t.steps.size()) continue;
            bool const better = !turn || (fails_next(t) && !fails_next(*turn)) ||
                (fails_next(t) == fails_next(*turn) && distance(t) < distance(*turn));
            if (better) turn = &t;
        }
        if (!turn) break;
        turn->caller.answer(turn->steps[turn->next++], out);
    }
    out.equal_number("final quota", number_at(scenario, "expected_final_quota", quota.left()), quota.left());
}

void run_hint(json::value const& row, checked_case& out)
{
    aws::retry_quota quota(aws::retry_options().quota);
    aws::retries call(aws::retry_options(), quota, false);
    failure why(errc::service_error, "");
    why.retryable = true;
    auto advice = aws::retry_advice();
    auto const hint = aws::parse_retry_after(text_at(row, "x_amz_retry_after"));
    for (int i = 0; i < number_at(row, "attempt", 1); ++i)
        advice = call.failed(why, hint, number_at(row, "random", 1));
    out.equal_number("delay", number_at(row, "delay_seconds", 0), seconds(advice.wait).count());
    out.equal_number("capacity after failure", number_at(row, "capacity_after_failure", 0), quota.left());
    call.succeeded();
    out.equal_number("capacity after success", number_at(row, "capacity_after_success", 0), quota.left());
}

/// Two columns of one table: is it a throttling error, is it a transient one. An error that botocore lists as both is
/// throttling here, so "transient" only asks for a retry.
void run_classes(json::value const& table, report& results)
{
    using aws::detail::error_kind;
    auto const kind = [](json::value const& row) {
        auto const* const error = find(row, "error");
        if (error && error->is_object())
            return error_kind::transient; // no answer at all: net's failures are retryable
        return aws::detail::classify(static_cast<int>(number_at(row, "http_status", 0)), text_at(row, "error"));
    };
    for (auto const& row : list_at(table, "retryable_throttled_responses")) {
        checked_case out(results, "throttling? " + json::serialize(row));
        out.equal_flag("throttling", flag_at(row, "retryable"), kind(row) == error_kind::throttling);
    }
    for (auto const& row : list_at(table, "retryable_transient_errors")) {
        checked_case out(results, "transient? " + json::serialize(row));
        if (flag_at(row, "retryable"))
            out.equal_flag("retryable", true, kind(row) != error_kind::final);
        else
            out.equal_flag("transient", false, kind(row) == error_kind::transient);
    }
    if (find(table, "retryable_modeled_errors")) {
        results.skip("retryable_modeled_errors", "no error in the model of SQS is marked as retryable");
    }
}

void run_facts(json::value const& facts, report& results)
{
    checked_case out(results, "backoff by attempt");
    auto const delays = list_at(facts, "backoff_seconds_by_attempt_2_1_max20");
    aws::retry_options options;
    options.max_attempts = static_cast<int>(delays.size()) + 1;
    aws::retry_quota quota(static_cast<int>(number_at(facts, "initial_quota", options.quota)));
    aws::retries call(options, quota, false);
    failure why(errc::service_error, "");
    why.retryable = true;
    for (auto const& delay : delays) {
        auto const advice = call.failed(why, {}, 1);
        out.equal_number("delay", delay.to_number<double>(), seconds(advice.wait).count());
    }
    auto const spent = number_at(facts, "retry_cost_2_1", 0) * static_cast<double>(delays.size());
    out.equal_number("quota", number_at(facts, "initial_quota", 0) - spent, quota.left());
}

void run_list(json::value const& list, std::string const& file, report& results)
{
    auto const not_ours = [](json::value const& item) {
        auto const* const given = find(item, "given");
        return find(item, "cases") || (given && find(*given, "exponential_power"));
    };
    for (auto const& item : list.as_array()) {
        auto const name = file + ": " + text_at(item, "name", text_at(item, "x_amz_retry_after"));
        if (not_ours(item)) {
            results.skip(name, "another rule than standard 2.1");
            continue;
        }
        checked_case out(results, name);
        try {
            if (find(item, "x_amz_retry_after"))
                run_hint(item, out);
            else if (find(item, "threads"))
                run_threads(item, out);
            else if (find(item, "responses"))
                run_scenario(item, out);
            else
                out.fail("neither responses nor threads nor x_amz_retry_after");
        } catch (std::exception const& e) {
            out.fail(e.what());
        }
    }
}

} // namespace

void run_retry(fs::path const& path, report& results)
{
    for (auto const& file : json_files(path)) {
        auto const data = read_json(file);
        if (data.is_array())
            run_list(data, file.stem().string(), results);
        else if (find(data, "backoff_seconds_by_attempt_2_1_max20"))
            run_facts(data, results);
        else
            run_classes(data, results);
    }
}

} // namespace quern::conformance
