#pragma once

#include <quern/core/error.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::services {

/// The value of an attribute of DynamoDB.
struct attribute {
    std::string type{};  ///< "S", "N", "M", …
    std::string value{}; ///< the text of an S, the digits of an N; of any other type what stands behind it, as JSON

    static attribute text(std::string value) { return {"S", std::move(value)}; }
    static attribute number(std::int64_t value) { return {"N", std::to_string(value)}; }

    friend bool operator==(attribute const&, attribute const&) = default;
};

using item = std::map<std::string, attribute, std::less<>>;

/// The value of that attribute, if it has one of that type.
std::optional<std::string> find(item const&, std::string_view name, std::string_view type);

/// A condition with what stands for its names (#a) and values (:a).
struct condition {
    std::string text{}; ///< empty: none
    std::map<std::string, std::string> names{};
    item values{};
};

/// Answer to a conditional write. A condition that does not hold is an answer, not a failure.
struct write_response {
    bool applied = true;
    std::optional<item> found{}; ///< when not applied: what stands there, if anything does
};

// Not aggregates: g++ 12.2 destroys those twice in a `co_await` expression (GCC PR107288).

struct get_item_request {
    static constexpr std::string_view operation = "GetItem";
    struct response {
        std::optional<item> found{};
    };
    std::string table;
    item key;
    bool consistent = true;

    get_item_request(std::string t, item k) : table(std::move(t)), key(std::move(k)) {}
};

struct put_item_request {
    static constexpr std::string_view operation = "PutItem";
    using response = write_response;
    std::string table;
    item what;
    condition when;

    put_item_request(std::string t, item i, condition c = {})
        : table(std::move(t)), what(std::move(i)), when(std::move(c))
    {}
};

struct update_item_request {
    static constexpr std::string_view operation = "UpdateItem";
    using response = write_response;
    std::string table;
    item key;
    std::string update; ///< "SET #status = :done", with the names and values of `when`
    condition when;

    update_item_request(std::string t, item k, std::string u, condition c)
        : table(std::move(t)), key(std::move(k)), update(std::move(u)), when(std::move(c))
    {}
};

struct delete_item_request {
    static constexpr std::string_view operation = "DeleteItem";
    using response = write_response;
    std::string table;
    item key;
    condition when;

    delete_item_request(std::string t, item k, condition c = {})
        : table(std::move(t)), key(std::move(k)), when(std::move(c))
    {}
};

/// One statement of PartiQL; each may have a condition of its own.
struct statement {
    std::string text{};
    std::vector<attribute> parameters{}; ///< for the question marks, in their order
};

/// Up to 25 statements, no two of them about the same item.
struct batch_execute_statement_request {
    static constexpr std::string_view operation = "BatchExecuteStatement";
    struct entry {
        std::optional<failure> failed{}; ///< a code as ConditionalCheckFailed, DuplicateItem, ThrottlingError
        std::optional<item> found{};     ///< of one that failed: what stands there, where the service says so
    };
    using response = std::vector<entry>; ///< as many as statements, in their order
    std::vector<statement> statements;

    explicit batch_execute_statement_request(std::vector<statement> s) : statements(std::move(s)) {}
};

/// A table on demand, its keys strings.
struct create_table_request {
    static constexpr std::string_view operation = "CreateTable";
    struct response {
        std::string status{}; ///< "CREATING"
    };
    std::string table;
    std::string hash_key;
    std::string sort_key; ///< empty: none

    create_table_request(std::string t, std::string hash, std::string sort = {})
        : table(std::move(t)), hash_key(std::move(hash)), sort_key(std::move(sort))
    {}
};

struct describe_table_request {
    static constexpr std::string_view operation = "DescribeTable";
    struct response {
        std::string status{}; ///< "ACTIVE"
        std::string arn{};
        std::string hash_key{}, sort_key{};
        std::string billing{};  ///< "PAY_PER_REQUEST"; empty where the service does not say
        std::int64_t items = 0; ///< as of some hours ago
        std::int64_t bytes = 0; ///< likewise
    };
    std::string table;

    explicit describe_table_request(std::string t) : table(std::move(t)) {}
};

struct update_time_to_live_request {
    static constexpr std::string_view operation = "UpdateTimeToLive";
    struct response {};
    std::string table;
    std::string attribute;

    update_time_to_live_request(std::string t, std::string a) : table(std::move(t)), attribute(std::move(a)) {}
};

struct describe_time_to_live_request {
    static constexpr std::string_view operation = "DescribeTimeToLive";
    struct response {
        std::string status{};    ///< "ENABLED", "DISABLED", "ENABLING"
        std::string attribute{}; ///< empty when disabled
    };
    std::string table;

    explicit describe_time_to_live_request(std::string t) : table(std::move(t)) {}
};

} // namespace quern::services
