#pragma once

#include "support/dynamodb_tables.hpp"
#include "support/fake_service.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace quern::test {

/// A DynamoDB on the loopback: it evaluates conditions.
class fake_dynamodb : public fake_service {
public:
    using fake_service::fake_service;

    dynamodb_tables tables;
    std::vector<std::string> operations; ///< carried out, in their order

    /// Answers in place of the truth, for an operation that is not carried out; nothing: the truth.
    std::function<std::optional<dynamodb_tables::reply>(std::string const& operation)> instead;

    std::string date; ///< of its answers, as a header has it; empty: they have none

    /// The operation is carried out, and its answer never sent.
    std::function<bool(std::string const& operation)> loses_answer;

private:
    std::optional<std::string> answer_to(std::string const& request) override
    {
        auto const target = header(request, "x-amz-target");
        auto const operation = target.substr(target.find('.') + 1);
        auto said = instead ? instead(operation) : std::nullopt;
        if (!said) {
            operations.push_back(operation);
            said = tables.carry_out(operation, body(request));
        }
        if (loses_answer && loses_answer(operation)) return {};
        return reply(said->status, said->body, date.empty() ? date : "Date: " + date + "\r\n");
    }
};

} // namespace quern::test
