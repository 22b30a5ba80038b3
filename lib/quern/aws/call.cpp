#include <quern/aws/call.hpp>
#include <quern/aws/error_reply.hpp>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <random>

namespace quern::aws {

namespace asio = boost::asio;

namespace {

json_target located(json_target target, net::endpoint const& where)
{
    target.host = where.authority();
    target.path = where.path;
    return target;
}

json_service::random make_jitter()
{
    return [engine = std::minstd_rand(std::random_device{}())]() mutable {
        return std::uniform_real_distribution<double>(0, 1)(engine);
    };
}

bool is_success(result<net::response> const& answer)
{
    return answer && answer->status >= 200 && answer->status < 300;
}

failure why_failed(result<net::response> const& answer)
{
    return answer ? decode_error(*answer) : answer.error();
}

std::optional<std::chrono::milliseconds> hint_in(result<net::response> const& answer)
{
    if (!answer) return {};
    return parse_retry_after(answer->fields.find("x-amz-retry-after"));
}

} // namespace

json_service::json_service(net::client& client, json_target target, std::shared_ptr<credentials_provider> keys,
    clock& time, retry_options options, random jitter)
    : client_(client), signer_(located(std::move(target), client.peer())), keys_(std::move(keys)), clock_(time),
      options_(options), jitter_(jitter ? std::move(jitter) : make_jitter()), quotas_{retry_quota(options.quota),
                                                                                  retry_quota(options.quota)}
{
    if (auto const wrong = options_.validate()) throw_exception_from_error(*wrong, BOOST_CURRENT_LOCATION);
}

/// Whether the same call, signed anew at once, may be accepted: with the right time, or with fresh credentials.
bool json_service::second_chance(failure const& why, net::response const& answer, shared_credentials const& used)
{
    if (says_expired_credentials(why.service_code)) return keys_->renew(used);
    return skew_.learn(why, answer.fields.find("date"), clock_.wall());
}

asio::awaitable<result<net::response>> json_service::call(
    std::string_view operation, std::string body, call_options how)
{
    retries rule(options_, quotas_[index(how.via)], how.long_poll);
    bool had_second_chance = false;
    try {
        for (;;) {
            auto keys = keys_->at_hand();
            if (!keys) {
                auto found = co_await keys_->get();
                if (!found) co_return found.error();
                keys = std::move(*found);
            }
            net::request ask(signer_.request(operation, body, *keys, skew_.corrected(clock_.wall())));
            ask.via = how.via;
            ask.timeout = how.timeout;
            ask.repeatable = how.repeatable;
            auto answer = co_await client_.exchange(std::move(ask));
            if (is_success(answer)) {
                rule.succeeded();
                co_return answer;
            }

            auto const why = why_failed(answer);
            if (answer && !had_second_chance && second_chance(why, *answer, keys)) {
                had_second_chance = true;
                continue;
            }
            auto const next = rule.failed(why, hint_in(answer), jitter_());
            if (next.wait.count() > 0) {
                auto const pause = clock_.make_timer(client_.get_executor());
                auto const slept = co_await pause->wait_until(clock_.now() + next.wait);
                if (!slept) co_return failure(errc::stopped, "cancelled between two attempts");
            }
            if (next.is != retry_advice::verdict::again) co_return why;
        }
    } catch (boost::system::system_error const& e) {
        // A cancellation that met no operation under way is thrown by the next co_await.
        if (e.code() != asio::error::operation_aborted) throw;
    }
    co_return failure(errc::stopped, "cancelled");
}

} // namespace quern::aws
