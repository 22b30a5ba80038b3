#pragma once

#include "support/fake_service.hpp"

#include <boost/json.hpp>

#include <map>
#include <optional>
#include <string>

namespace quern::test {

/// A Systems Manager on the loopback, with parameters.
class fake_ssm : public fake_service {
public:
    using fake_service::fake_service;

    struct parameter {
        std::string value;
        std::string type = "String"; ///< a SecureString is shown encrypted to who does not ask for more
        int version = 1;
    };
    std::map<std::string, parameter> parameters;
    bool throttles = false;

private:
    std::optional<std::string> answer_to(std::string const& request) override
    {
        namespace json = boost::json;
        auto const ask = json::parse(body(request)).as_object();
        if (throttles) return reply(400, R"({"__type":"ThrottlingException","message":"Rate exceeded"})");
        auto const name = std::string(ask.at("Name").as_string());
        if (header(request, "x-amz-target") == "AmazonSSM.PutParameter") {
            if (parameters.contains(name) && !ask.at("Overwrite").as_bool())
                return reply(400, R"({"__type":"ParameterAlreadyExists"})");
            auto& written = parameters[name];
            written.value = std::string(ask.at("Value").as_string());
            ++written.version;
            return reply(200, R"({"Tier":"Standard","Version":2})");
        }
        auto const found = parameters.find(name);
        if (header(request, "x-amz-target") != "AmazonSSM.GetParameter" || found == parameters.end())
            return reply(400, R"({"__type":"ParameterNotFound"})");
        auto const& [value, type, version] = found->second;
        bool const decrypts = ask.contains("WithDecryption") && ask.at("WithDecryption").as_bool();
        json::object const shown{{"Name", name}, {"Type", type}, {"Version", version},
            {"Value", type == "SecureString" && !decrypts ? "AQICAHhencrypted" : value}};
        return reply(200, json::serialize(json::object{{"Parameter", shown}}));
    }
};

} // namespace quern::test
