#pragma once

#include "support/fake_service.hpp"

#include <quern/core/clock.hpp>

#include <boost/json.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace quern::test {

/// The data plane of AppConfig on the loopback: tokens are good once, and not before the interval of their session.
class fake_app_config : public fake_service {
public:
    explicit fake_app_config(boost::asio::io_context& io, clock& time = real_clock()) : fake_service(io), time_(time)
    {}

    void deploy(std::string const& name, std::string text)
    {
        auto& at = deployed_[name];
        at.text = std::move(text);
        ++at.version;
    }

    /// Tokens given so far are good for nothing, as after a day.
    void forget_sessions() { tokens_.clear(); }

    int sessions = 0; ///< begun
    int readings = 0; ///< answered well, with a text or without
    int refused = 0;  ///< by a BadRequestException

    std::chrono::seconds interval{60};      ///< unless the session wants another one
    std::function<bool()> loses_answer;     ///< the reading counts, and its answer is never sent
    std::function<int()> fails_with_status; ///< 0: it does not

private:
    struct configuration {
        std::string text;
        int version = 0;
    };
    struct session {
        std::string name;
        std::chrono::seconds interval{};
        int seen = 0; ///< version
        tick not_before{};
    };

    std::optional<std::string> answer_to(std::string const& request) override
    {
        if (auto const status = fails_with_status ? fails_with_status() : 0; status != 0)
            return reply(status, R"({"Message":"not today"})",
                status == 429 ? "x-amzn-errortype: ThrottlingException\r\n"
                              : "x-amzn-errortype: InternalServerException\r\n");
        if (request.starts_with("POST /configurationsessions ")) return begin(body(request));
        constexpr std::string_view get = "GET /configuration?configuration_token=";
        if (request.starts_with(get)) return read(request.substr(get.size(), request.find(' ', 5) - get.size()));
        return reply(404, "{}");
    }

    std::string begin(std::string const& text)
    {
        auto const ask = boost::json::parse(text).as_object();
        session made;
        for (auto const* const part :
            {"ApplicationIdentifier", "EnvironmentIdentifier", "ConfigurationProfileIdentifier"})
            made.name += (made.name.empty() ? "" : "/") + std::string(ask.at(part).as_string());
        if (!deployed_.contains(made.name))
            return reply(404, R"({"Message":"none of that name","ResourceType":"Configuration"})",
                "x-amzn-errortype: ResourceNotFoundException\r\n");
        auto const* const wants = ask.if_contains("RequiredMinimumPollIntervalInSeconds");
        made.interval = wants ? std::chrono::seconds(wants->as_int64()) : interval;
        ++sessions;
        return reply(
            201, boost::json::serialize(boost::json::object{{"InitialConfigurationToken", token_for(made)}}));
    }

    std::optional<std::string> read(std::string const& token)
    {
        auto found = tokens_.extract(token);
        if (!found) return refuse("Corrupted");
        auto& of = found.mapped();
        if (time_.now() < of.not_before) {
            tokens_.insert(std::move(found));
            return refuse("PollIntervalNotSatisfied");
        }
        auto const& now = deployed_.at(of.name);
        auto const text = of.seen == now.version ? std::string() : now.text;
        of.seen = now.version;
        of.not_before = time_.now() + of.interval;
        ++readings;
        auto const next = token_for(of);
        if (loses_answer && loses_answer()) return {};
        return reply(200, text,
            "content-type: application/json\r\nnext-poll-configuration-token: " + next +
                "\r\nnext-poll-interval-in-seconds: " + std::to_string(of.interval.count()) + "\r\nversion-label: v" +
                std::to_string(now.version) + "\r\n");
    }

    std::string refuse(std::string const& problem)
    {
        ++refused;
        return reply(400,
            R"({"Message":"no","Reason":"InvalidParameters","Details":{"InvalidParameters":{"configuration_token":{"Problem":")" +
                problem + R"("}}}})",
            "x-amzn-errortype: BadRequestException\r\n");
    }

    std::string token_for(session of)
    {
        auto const token = "token" + std::to_string(++given_);
        tokens_[token] = std::move(of);
        return token;
    }

    clock& time_;
    std::map<std::string, configuration> deployed_;
    std::map<std::string, session> tokens_;
    int given_ = 0;
};

} // namespace quern::test
