#include <quern/flags/app_config.hpp>

#include <quern/flags/detail/pointed_at.hpp>
#include <quern/flags/detail/text_flag.hpp>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

namespace quern::flags {

using namespace detail;
namespace asio = boost::asio;
using services::configuration_name;
using latest = services::get_latest_configuration_request::response;

namespace {

std::string name_of(char const* kind, configuration_name const& what, std::string const& pointer)
{
    auto out = kind + what.application + '/' + what.environment + '/' + what.profile;
    return pointer.empty() ? out : out + '#' + pointer;
}

class session_flag final : public policy::flag_source {
public:
    session_flag(std::shared_ptr<services::app_config> client, configuration_name what, std::string pointer,
        std::chrono::seconds least, clock& time)
        : client_(std::move(client)), what_(std::move(what)), pointer_(std::move(pointer)), least_(least), time_(time)
    {}

    std::string name() const override { return name_of("appconfig:", what_, pointer_); }

    asio::awaitable<result<policy::flag_reading>> read() override
    {
        auto token = take_token();
        if (token.early) co_return reading(*token.early);
        at_work const noted(*this);
        bool const had_one = !token.text.empty();
        auto got = co_await ask(std::move(token.text));
        if (had_one && got.has_error() && is_refused(got.error())) {
            std::string none;
            got = co_await ask(std::move(none));
        }
        if (!got) co_return got.error();
        auto const pause = keep(std::move(*got));
        co_return reading(pause);
    }

private:
    struct taken {
        std::string text;                          ///< empty: a session has to begin
        std::optional<std::chrono::seconds> early; ///< nothing may be asked before that is over
    };

    /// While one reads, others are given the text that there is, if it is no older than a reading may take.
    struct at_work {
        explicit at_work(session_flag& its) : of(its) {}
        at_work(at_work const&) = delete;
        ~at_work()
        {
            std::lock_guard const hold(of.lock_);
            of.asking_ = false;
        }
        session_flag& of;
    };

    /// The token was used, or is damaged, or too old; a new session needs none.
    static bool is_refused(failure const& why) { return why.service_code == "BadRequestException"; }

    taken take_token()
    {
        std::lock_guard const hold(lock_);
        taken out;
        auto const now = time_.now();
        constexpr std::chrono::seconds patience{
            2}; // then they ask for themselves, or a word would stay good for ever
        if (text_ && (now < next_at_ || (asking_ && now < next_at_ + patience))) {
            auto const rest = std::chrono::ceil<std::chrono::seconds>(next_at_ - now);
            out.early = std::max(rest, std::chrono::seconds(1));
        } else {
            out.text = std::exchange(token_, {});
            asking_ = true;
        }
        return out;
    }

    asio::awaitable<result<latest>> ask(std::string token)
    {
        if (token.empty()) {
            services::start_configuration_session_request begin(what_, least_);
            auto const session = co_await client_->start_configuration_session(std::move(begin));
            if (!session) co_return session.error();
            token = session->token;
        }
        services::get_latest_configuration_request question(token);
        auto got = co_await client_->get_latest_configuration(std::move(question));
        bool const is_unused =
            got.has_error() && (got.error().code == errc::throttled || got.error().http_status >= 500);
        if (is_unused) put_back(std::move(token));
        co_return got;
    }

    void put_back(std::string token)
    {
        std::lock_guard const hold(lock_);
        token_ = std::move(token);
    }

    std::chrono::seconds keep(latest got)
    {
        std::lock_guard const hold(lock_);
        token_ = std::move(got.token);
        next_at_ = time_.now() + got.next;
        if (got.content || !text_) text_ = got.content.value_or("");
        return got.next;
    }

    result<policy::flag_reading> reading(std::chrono::seconds pause)
    {
        std::lock_guard const hold(lock_);
        auto word = pointed_at(*text_, pointer_);
        if (!word) return word.error();
        policy::flag_reading out;
        out.text = std::move(*word);
        out.not_before = pause;
        return out;
    }

    std::shared_ptr<services::app_config> const client_;
    configuration_name const what_;
    std::string const pointer_;
    std::chrono::seconds const least_;
    clock& time_;
    std::mutex lock_;
    std::string token_;               // empty: none
    std::optional<std::string> text_; // of the last reading
    tick next_at_{};
    bool asking_ = false;
};

} // namespace

std::shared_ptr<policy::flag_source> in_app_config(std::shared_ptr<services::app_config> client,
    configuration_name what, std::string pointer, std::chrono::seconds least_interval, clock& time)
{
    return std::make_shared<session_flag>(
        std::move(client), std::move(what), std::move(pointer), least_interval, time);
}

std::shared_ptr<policy::flag_source> in_app_config_agent(
    configuration_name what, std::string pointer, services::agent_options agent)
{
    auto name = name_of("appconfig-agent:", what, pointer);
    auto read = [what = std::move(what), pointer = std::move(pointer),
                    agent = std::move(agent)]() -> asio::awaitable<result<std::string>> {
        auto const got = co_await services::read_from_agent(agent, what);
        if (!got) co_return got.error();
        co_return pointed_at(*got, pointer);
    };
    return std::make_shared<text_flag>(std::move(name), std::move(read));
}

} // namespace quern::flags
