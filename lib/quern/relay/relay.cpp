#include <quern/relay/relay.hpp>

#include <quern/core/detail/random_part.hpp>
#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/date.hpp>
#include <quern/core/detail/throw_wrong.hpp>
#include <quern/net/endpoint.hpp>
#include <quern/relay/detail/ending.hpp>
#include <quern/relay/detail/key_files.hpp>
#include <quern/relay/detail/oauth2.hpp>
#include <quern/relay/detail/told_rate.hpp>
#include <quern/relay/lambda_answer.hpp>
#include <quern/sqs/limits.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <random>
#include <set>
#include <span>
#include <utility>

namespace quern::relay {

using namespace quern::detail;
namespace asio = boost::asio;

namespace {

/// The text of a reply is to blame, whoever takes it.
bool never_fits(failure const& why)
{
    constexpr std::string_view codes[] = {"InvalidMessageContents", "InvalidParameterValue", "BatchRequestTooLong"};
    auto const is_end = [&](std::string_view code) { return why.service_code.ends_with(code); };
    return why.code == errc::invalid_request || std::ranges::any_of(codes, is_end);
}

outcome::news for_the_breaker(news about)
{
    return about == news::bad ? outcome::news::bad : about == news::down ? outcome::news::down : outcome::news::none;
}

} // namespace

class relay::core : public std::enable_shared_from_this<core> {
public:
    core(net::web_hook_sender& to, queue_name from, relay_options o)
        : options_(with_readers(std::move(o))), time_(options_.time ? *options_.time : real_clock()), sender_(to),
          queue_(std::move(from)), keys_(options_), log_(options_.log, queue_.name),
          at_(net::parse_endpoint(options_.request.url.origin()).value())
    {
        keys_.read().value();
    }

    static relay_options with_readers(relay_options o)
    {
        if (o.reply || o.request.format == body_format::lambda) o.outcome.needs_body = true;
        return o;
    }

    result<void> reload(relay_options o)
    {
        detail::key_files fresh(o);
        if (auto const keys = fresh.read(); !keys) return keys.error();
        at_ = net::parse_endpoint(o.request.url.origin()).value();
        keys_ = std::move(fresh);
        options_ = with_readers(std::move(o));
        tokens_.reset();
        return {};
    }

    asio::awaitable<outcome> deliver(delivery& d)
    {
        std::reference_wrapper<delivery> const one[] = {d};
        auto const said = co_await deliver_all(deliveries(one));
        co_return said.front();
    }

    asio::awaitable<std::vector<outcome>> deliver_all(deliveries all)
    {
        auto const received_at = time_.now();
        std::vector<letter> letters;
        for (delivery& d : all) {
            letters.push_back({d.message(), queue_});
            if (options_.trace && !options_.batches) letters.back().trace = options_.trace(d);
        }
        net::response answer;
        auto end = co_await attempt(letters, answer);
        auto const says = read_bodies(end, answer, letters);
        auto const reply = options_.reply; // others may be loaded meanwhile
        std::vector<outcome> out;
        std::vector<decision> decided;
        for (std::size_t i = 0; i != letters.size(); ++i) {
            end.body = says[i];
            auto what = options_.outcome.decide(end, service_time(), left_since(received_at));
            if (letters.size() > 1 && what.what == action::reject && !what.is_unbuildable) {
                what.what = action::retry; // a status doesn't say which of them it is about
                what.in_vain = true;
            }
            if (what.what == action::ack && reply) {
                auto const sent = co_await reply(all[i], answer);
                if (!sent && never_fits(sent.error()))
                    note_unreplied(all[i], sent.error());
                else if (!sent)
                    what = not_replied(sent.error());
            }
            out.push_back(carry_out(what, all[i], end.status));
            decided.push_back(std::move(what));
        }
        learn(end, decided);
        co_return out;
    }

    relay_counters counters;
    std::function<void(std::string)> halt;

    std::shared_ptr<detail::told_rate> rate; // null: nobody wants to hear of it

    void on_rate(detail::told_rate::listener tell)
    {
        rate = tell ? std::make_shared<detail::told_rate>(time_, std::move(tell)) : nullptr;
    }

private:
    static decision not_replied(failure const& why)
    {
        decision out;
        out.maybe_done = true;
        out.reason = "its reply cannot be sent: " + describe(why);
        return out;
    }

    void note_unreplied(delivery const& d, failure const& why)
    {
        ++counters.unreplied;
        log_entry line;
        line.kind = why.message;
        line.text = std::string(d.id()) +
            ": its reply can never be stored, the message is deleted all the same: " + describe(why);
        line.about.message_id = d.id();
        line.about.attempt = d.receive_count();
        log_.write(log_level::warning, "no reply", std::move(line), time_.now());
    }

    std::chrono::milliseconds left_since(tick received_at) const
    {
        return sqs::max_visibility - std::chrono::ceil<std::chrono::milliseconds>(time_.now() - received_at);
    }

    /// Others compare it with their own clocks, so it goes by the service's where that is known to be right.
    wall_time service_time() const
    {
        return time_.wall() + (options_.clock_offset ? options_.clock_offset() : std::chrono::milliseconds());
    }

    result<hook_request> make(std::vector<letter> const& of, request_keys const& keys) const
    {
        return options_.batches ? make_batch_request(of, options_.request, keys)
                                : make_request(of.front(), options_.request, keys, service_time());
    }

    [[noreturn]] void end_cancelled()
    {
        ++counters.cancelled;
        throw boost::system::system_error(asio::error::operation_aborted);
    }

    /// Our own affair, not the message's.
    static ending not_sent(failure const& why)
    {
        ending out;
        out.how = reach::not_sent;
        out.error = why.message;
        return out;
    }

    /// A request, and once more with another token when the service refuses the one that it has.
    asio::awaitable<ending> attempt(std::vector<letter> const& of, net::response& answer)
    {
        auto keys = keys_.read();
        if (!keys) co_return not_sent(keys.error());
        if (!options_.oauth2) co_return co_await ask(of, *keys, answer);
        auto const ex = co_await asio::this_coro::executor;
        if (!tokens_)
            tokens_ = aws::cached_credentials(ex, detail::tokens_of(sender_, *options_.oauth2, time_), time_);
        auto const tokens = tokens_; // others may be loaded meanwhile
        for (bool is_first = true;; is_first = false) {
            auto const token = co_await tokens->get();
            auto const state = co_await asio::this_coro::cancellation_state;
            if (state.cancelled() != asio::cancellation_type::none) end_cancelled();
            if (!token) co_return not_sent(token.error());
            keys->authorization = "Bearer " + (*token)->session_token;
            auto end = co_await ask(of, *keys, answer);
            bool const is_refused = end.how == reach::answered && end.status == 401;
            if (!is_first || !is_refused || tokens->renew(*token) != aws::renewal::now) co_return end;
        }
    }

    asio::awaitable<ending> ask(std::vector<letter> const& of, request_keys const& keys, net::response& answer)
    {
        ending out;
        auto made = make(of, keys);
        if (!made) {
            out.how = reach::unbuildable;
            out.error = made.error().message;
            co_return out;
        }
        warn_of(made->left_out);
        ++counters.requests;
        auto request = to_send(std::move(*made));
        detail::told_rate::request const under_way(rate);
        auto got = co_await sender_.send(std::move(request));
        ++counters.by_status[detail::counted_as(got)];
        if (detail::was_cancelled(got)) end_cancelled();
        out = detail::ending_of(got);
        if (out.how == reach::not_sent) ++counters.not_sent;
        if (got) answer = std::move(*got);
        co_return out;
    }

    net::web_hook_request to_send(hook_request from) const
    {
        net::web_hook_request out(at_);
        out.method = std::move(from.method);
        out.to.path = std::move(from.target);
        out.unix_socket = options_.unix_socket;
        out.headers = std::move(from.headers);
        out.body = std::move(from.body);
        out.timeout = options_.timeout;
        return out;
    }

    /// The word of a whole answer on each message.
    std::vector<body_says> read_bodies(ending& end, net::response const& answer, std::vector<letter> const& of) const
    {
        if (end.how != reach::answered || options_.request.format != body_format::lambda)
            return std::vector<body_says>(of.size(), body_says::nothing);
        std::vector<std::string_view> ids;
        for (auto const& one : of)
            ids.push_back(one.message.id);
        auto said = read_lambda_answer(answer.body, ids, false); // of a FIFO queue each is of another group
        end.error = said.error;
        return std::move(said.messages);
    }

    /// Counts what the service took up, were it only to find fault with it, and what it refused.
    void learn(ending const& end, std::span<decision const> decided)
    {
        detail::refusal_rule::counts n;
        for (auto const& each : decided) {
            if (end.status == 429 && each.what == action::retry)
                ++n.refused;
            else if (end.how == reach::answered &&
                (each.about_service == news::good || each.about_service == news::none))
                ++n.admitted;
        }
        if (n.refused != 0) ++counters.refused; // it was one answer
        if (auto const to = rate) to->learn(n, log_);
    }

    /// The consumer logs what the outcome tells.
    outcome carry_out(decision const& what, delivery const& d, int status)
    {
        if (what.maybe_done) ++counters.maybe_done;
        switch (what.what) {
        case action::ack: ++counters.acked; return ack().because(what.reason, status);
        case action::reject:
            ++counters.rejected;
            return what.is_unbuildable ? reject(what.reason).unless_deleted()
                                       : reject(what.reason).because({}, status);
        case action::unavailable: ++counters.unavailable; return unavailable().because(what.reason, status);
        case action::halt:
            ++counters.halted;
            log_.write(log_level::error, "halted", std::string(d.id()) + ": " + what.reason + "; a rule says halt",
                time_.now());
            if (halt) halt(what.reason);
            return release().because(what.reason, status);
        case action::retry: break;
        }
        if (what.tries && d.receive_count() >= *what.tries) {
            ++counters.rejected;
            auto const why = what.reason + "; tried " + std::to_string(d.receive_count()) + " times";
            return reject(why).because({}, status);
        }
        ++counters.retried;
        auto const found =
            what.reason + (what.in_vain ? "; retried, though no try is likely to help" : std::string());
        auto put_off = what.after ? retry_after(*what.after) : retry();
        if (!what.after && what.by) put_off = put_off.waiting(what.by->delay(d.receive_count(), random_));
        return put_off.because(found, status).telling(for_the_breaker(what.about_service));
    }

    void warn_of(std::vector<std::string> const& left_out)
    {
        for (auto const& what : left_out) {
            if (warned_.size() < 100 && warned_.insert(what).second)
                log_.write_each(log_level::warning, "header", what, time_.now());
        }
    }

    relay_options options_;
    clock& time_;
    net::web_hook_sender& sender_;
    queue_name const queue_;
    detail::key_files keys_;
    std::shared_ptr<aws::credentials_provider> tokens_; // once a request has wanted one
    log_throttle log_;
    net::endpoint at_;
    std::set<std::string> warned_;
    std::mt19937_64 random_{seeded(0)};
};

relay::relay(net::web_hook_sender& to, queue_name from, relay_options o)
{
    throw_wrong(o.validate());
    core_ = std::make_shared<core>(to, std::move(from), std::move(o));
}

quern::handler relay::handler() const
{
    return [core = core_](delivery& d) { return core->deliver(d); };
}

quern::batch_handler relay::batch_handler() const
{
    return [core = core_](deliveries all) { return core->deliver_all(all); };
}

result<void> relay::reload(relay_options o)
{
    if (auto wrong = o.validate()) return std::move(*wrong);
    return core_->reload(std::move(o));
}

void relay::on_halt(std::function<void(std::string)> tell)
{
    core_->halt = std::move(tell);
}

void relay::on_rate(std::function<void(std::optional<policy::rate>)> tell)
{
    core_->on_rate(std::move(tell));
}

relay_counters const& relay::counters() const
{
    return core_->counters;
}

std::optional<policy::rate> relay::rate() const
{
    return core_->rate ? core_->rate->now() : std::nullopt;
}

} // namespace quern::relay
