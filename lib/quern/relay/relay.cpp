#include <quern/relay/relay.hpp>

#include <quern/core/detail/text/base64.hpp>
#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/date.hpp>
#include <quern/core/detail/throw_wrong.hpp>
#include <quern/net/endpoint.hpp>
#include <quern/relay/detail/ending.hpp>
#include <quern/relay/detail/told_rate.hpp>
#include <quern/relay/detail/watched_file.hpp>
#include <quern/relay/lambda_answer.hpp>
#include <quern/relay/signature.hpp>
#include <quern/sqs/limits.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/error.hpp>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

namespace quern::relay {

namespace asio = boost::asio;

namespace {

/// Keys and tokens of requests, read again when their files have changed.
class key_files {
public:
    explicit key_files(relay_options const& o)
    {
        for (auto const& path : o.secret_files)
            secrets_.emplace_back(path);
        if (!o.bearer_file.empty()) bearer_.emplace(o.bearer_file);
        if (!o.basic_file.empty()) basic_.emplace(o.basic_file);
    }

    result<request_keys> read()
    {
        request_keys out;
        for (auto& file : secrets_) {
            auto const secret = file.read();
            if (!secret) return secret.error();
            auto key = signing_key(*secret);
            if (!key) return failure(errc::invalid_option, file.path() + ": " + key.error().message);
            out.signing.push_back(std::move(*key));
        }
        if (bearer_) {
            auto const token = bearer_->read();
            if (!token) return token.error();
            out.authorization = "Bearer " + *token;
        }
        if (basic_) {
            auto const pair = basic_->read();
            if (!pair) return pair.error();
            out.authorization = "Basic " + text::base64_encode(*pair);
        }
        return out;
    }

private:
    std::vector<detail::watched_file> secrets_;
    std::optional<detail::watched_file> bearer_, basic_;
};

outcome::news for_the_breaker(news about)
{
    return about == news::bad ? outcome::news::bad : about == news::down ? outcome::news::down : outcome::news::none;
}

} // namespace

class relay::core : public std::enable_shared_from_this<core> {
public:
    core(net::web_hook_sender& to, queue_name from, relay_options o)
        : options_(std::move(o)), time_(options_.time ? *options_.time : real_clock()), sender_(to),
          queue_(std::move(from)), keys_(options_), log_(options_.log),
          at_(net::parse_endpoint(options_.request.url.origin()).value())
    {
        keys_.read().value();
    }

    result<void> reload(relay_options o)
    {
        key_files fresh(o);
        if (auto const keys = fresh.read(); !keys) return keys.error();
        at_ = net::parse_endpoint(o.request.url.origin()).value();
        keys_ = std::move(fresh);
        options_ = std::move(o);
        return {};
    }

    asio::awaitable<outcome> deliver(delivery& d)
    {
        auto const received_at = time_.now();
        std::vector<letter> one{{d.message(), queue_}};
        if (options_.trace) one.front().trace = options_.trace(d);
        net::response answer;
        auto end = co_await attempt(one, answer);
        auto const says = read_bodies(end, answer, one);
        end.body = says.front();
        auto what = options_.outcome.decide(end, time_.wall(), left_since(received_at));
        auto const reply = options_.reply; // others may be loaded meanwhile
        if (what.what == action::ack && reply) {
            auto const sent = co_await reply(d, answer);
            if (!sent) what = not_replied(sent.error());
        }
        learn(end, std::span(&what, 1));
        co_return carry_out(what, d);
    }

    asio::awaitable<std::vector<outcome>> deliver_all(deliveries all)
    {
        auto const received_at = time_.now();
        std::vector<letter> letters;
        for (delivery const& d : all)
            letters.push_back({d.message(), queue_});
        net::response answer;
        auto end = co_await attempt(letters, answer);
        auto const says = read_bodies(end, answer, letters);
        std::vector<outcome> out;
        std::vector<decision> decided;
        for (std::size_t i = 0; i != letters.size(); ++i) {
            end.body = says[i];
            auto what = options_.outcome.decide(end, time_.wall(), left_since(received_at));
            if (letters.size() > 1 && what.what == action::reject && !what.is_unbuildable) {
                what.what = action::retry; // a status doesn't say which of them it is about
                what.in_vain = true;
            }
            out.push_back(carry_out(what, all[i]));
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

    std::chrono::milliseconds left_since(tick received_at) const
    {
        return sqs::max_visibility - std::chrono::ceil<std::chrono::milliseconds>(time_.now() - received_at);
    }

    result<hook_request> make(std::vector<letter> const& of, request_keys const& keys) const
    {
        return options_.batches ? make_batch_request(of, options_.request, keys)
                                : make_request(of.front(), options_.request, keys, time_.wall());
    }

    asio::awaitable<ending> attempt(std::vector<letter> const& of, net::response& answer)
    {
        ending out;
        auto const keys = keys_.read();
        if (!keys) { // our own affair, not the message's
            out.how = reach::not_sent;
            out.error = keys.error().message;
            co_return out;
        }
        auto made = make(of, *keys);
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
        if (detail::was_cancelled(got)) {
            ++counters.cancelled;
            throw boost::system::system_error(asio::error::operation_aborted);
        }
        out = detail::ending_of(got);
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

    outcome carry_out(decision const& what, delivery const& d)
    {
        auto const now = time_.now();
        if (what.maybe_done) ++counters.maybe_done;
        auto const says = std::string(d.id()) + ": " + what.reason;
        switch (what.what) {
        case action::ack: ++counters.acked; return ack();
        case action::reject:
            if (what.is_unbuildable && !options_.keeps_rejected) break;
            ++counters.rejected;
            return reject(what.reason);
        case action::unavailable:
            ++counters.unavailable;
            log_.write(log_level::warning, "unavailable", says, now);
            return quern::unavailable();
        case action::halt:
            ++counters.halted;
            log_.write(log_level::error, "halted", says + "; a rule says halt", now);
            if (halt) halt(what.reason);
            return release();
        case action::retry: break;
        }
        ++counters.retried;
        log_.write(log_level::warning, "retried",
            says + (what.in_vain ? "; retried, though no try is likely to help" : ""), now);
        auto const put_off = what.after ? retry_after(*what.after) : retry();
        return put_off.telling(for_the_breaker(what.about_service));
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
    key_files keys_;
    log_throttle log_;
    net::endpoint at_;
    std::set<std::string> warned_;
};

namespace {

bool is_named(header_template const& header, std::string_view name)
{
    return text::equal_ignoring_case(header.name, name);
}

} // namespace

std::optional<failure> relay_options::validate() const
{
    if (auto wrong = request.validate()) return wrong;
    if (auto wrong = batches ? request.validate_for_batches() : std::nullopt) return wrong;
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (timeout < std::chrono::milliseconds(1) || timeout > sqs::max_visibility)
        return wrong("timeout must be from 1 ms to 12 h");
    if (batches && !secret_files.empty())
        return wrong(
            "a batch cannot be signed: Standard Webhooks signs one id, and no id stands for several messages");
    if (batches && reply) return wrong("the answer to a batch is no reply: it says which messages have failed");
    for (auto const& header : request.extra)
        if (!secret_files.empty() && (is_named(header, "webhook-timestamp") || is_named(header, "webhook-signature")))
            return wrong("a signed request gets its headers webhook-timestamp and webhook-signature here; take them "
                         "from the headers, or leave the secret file out");
    if (!bearer_file.empty() && !basic_file.empty())
        return wrong("bearer_file and basic_file both make the header Authorization; leave one of them out");
    if (outcome.success.is_empty() && outcome.lines.empty())
        return wrong("success names no status: nothing would ever be done");
    return {};
}

result<request_keys> read_keys(relay_options const& o)
{
    return key_files(o).read();
}

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

std::function<std::string(delivery const&)> dependency_by(text_template by, queue_name from)
{
    return [by = std::move(by), from = std::move(from)](delivery const& d) {
        auto name = by.fill({d.message(), from});
        return name ? std::move(*name) : std::string();
    };
}

std::vector<std::string> system_attributes_for(request_options const& o)
{
    if (o.format == body_format::lambda) return {"All"};
    return {"SentTimestamp", "MessageGroupId", "MessageDeduplicationId", "SequenceNumber", "AWSTraceHeader"};
}

} // namespace quern::relay
