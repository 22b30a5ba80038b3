#include <quern/aws/signing_sender.hpp>

#include <quern/aws/config/detail/partitions.hpp>
#include <quern/aws/detail/error_reply.hpp>
#include <quern/aws/detail/question.hpp>
#include <quern/aws/detail/signing/sigv4.hpp>
#include <quern/core/detail/text/characters.hpp>

#include <boost/asio/this_coro.hpp>

#include <utility>

namespace quern::aws {

using namespace detail;
using namespace quern::detail;
namespace asio = boost::asio;

namespace {

net::web_hook_error not_signed(failure const& why)
{
    bool const is_stopped = why.code == errc::stopped;
    return {is_stopped ? net::web_hook_fault::cancelled : net::web_hook_fault::invalid_request, why};
}

} // namespace

std::optional<signing_place> signing_place_of(std::string_view host)
{
    auto const found = service_host_of(text::lower_case(host));
    if (!found) return {};
    return signing_place{found->signing_name, found->region};
}

signing_sender::signing_sender(
    net::web_hook_sender& next, std::shared_ptr<credentials_provider> keys, signing_place place, clock& time)
    : next_(next), keys_(std::move(keys)), place_(std::move(place)), clock_(time),
      derived_(std::make_unique<signing_keys>())
{}

signing_sender::~signing_sender() = default;

net::web_hook_request signing_sender::with_signature(net::web_hook_request const& what, credentials const& who)
{
    auto const host = what.to.authority();
    request_view view{what.method, what.to.path, {{"host", host}}, what.body};
    for (auto const& [name, value] : what.headers)
        view.headers.push_back({name, value});
    signing_scope const scope{text::timestamp(skew_.corrected(clock_.wall())), place_.region, place_.service};
    auto added = sign(view, who, scope, signing_options(), *derived_).added;
    auto out = what;
    for (auto& header : added)
        out.headers.push_back(std::move(header));
    return out;
}

/// Whether the same request may be taken when it is signed anew at once.
bool signing_sender::may_pass_now(net::response const& answer, shared_credentials const& refused)
{
    if (answer.status < 400) return false;
    auto const why = decode_error(answer.status, answer.fields, answer.body);
    if (says_expired_credentials(why.service_code)) return keys_->renew(refused) == renewal::now;
    return skew_.learn(why, answer.fields.find("date"), clock_.wall());
}

/// Takes the time that it lasts from what is left of the request's.
asio::awaitable<result<shared_credentials>> signing_sender::wait_for_keys(std::chrono::milliseconds& left)
{
    auto const ex = co_await asio::this_coro::executor;
    auto const asked = std::make_shared<question>(keys_, clock_, ex);
    auto found = co_await answer_to(asked, left);
    if (found && left.count() <= 0) co_return no_answer_in_time();
    co_return found;
}

asio::awaitable<net::web_hook_result> signing_sender::send(net::web_hook_request what)
{
    for (bool is_second = false;; is_second = true) {
        auto keys = keys_->at_hand();
        if (!keys) {
            auto found = co_await wait_for_keys(what.timeout);
            if (!found) co_return not_signed(found.error());
            keys = std::move(*found);
        }
        auto request = with_signature(what, *keys);
        auto answer = co_await next_.send(std::move(request));
        if (is_second || !answer || !may_pass_now(*answer, keys)) co_return answer;
    }
}

} // namespace quern::aws
