#pragma once

#include "support/dynamodb_expression.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace quern::test {

/// The tables of a DynamoDB in memory, with what a store of shared state asks of it.
class dynamodb_tables {
public:
    struct reply {
        int status = 200;
        std::string body = "{}";
    };

    struct table {
        std::string hash_key, sort_key, time_to_live;
        std::map<std::string, json::object> items;

        std::string id_of(json::object const& item) const
        {
            auto id = json::serialize(item.at(hash_key));
            if (!sort_key.empty()) id += json::serialize(item.at(sort_key));
            return id;
        }
    };
    std::map<std::string, table> all;

    reply carry_out(std::string const& operation, std::string const& body)
    {
        try {
            auto const request = json::parse(body).as_object();
            if (operation == "BatchExecuteStatement") return batch(request);
            auto const name = std::string(request.at("TableName").as_string());
            if (operation == "CreateTable") return create(name, request);
            auto const at = all.find(name);
            if (at == all.end()) return error("ResourceNotFoundException", "Requested resource not found");
            if (operation == "DescribeTable") return describe(name, at->second);
            if (operation == "GetItem") return get(at->second, request);
            if (operation == "UpdateTimeToLive") {
                auto const& how = request.at("TimeToLiveSpecification").as_object();
                at->second.time_to_live = std::string(how.at("AttributeName").as_string());
                return {};
            }
            if (operation == "DescribeTimeToLive") return describe_life(at->second);
            return write(operation, at->second, request);
        } catch (std::exception const& e) {
            return error("ValidationException", e.what());
        }
    }

    static reply error(std::string const& type, std::string const& why)
    {
        json::object out{{"__type", "com.amazonaws.dynamodb.v20120810#" + type}, {"Message", why}};
        return {400, json::serialize(out)};
    }

    void add(std::string const& name, std::string hash_key = "id", std::string sort_key = {})
    {
        all[name] = {std::move(hash_key), std::move(sort_key), {}, {}};
    }

private:
    static json::object member(json::object const& of, std::string_view name)
    {
        auto const* const found = of.if_contains(name);
        return found ? found->as_object() : json::object();
    }

    reply create(std::string const& name, json::object const& request)
    {
        if (all.contains(name)) return error("ResourceInUseException", "Table already exists: " + name);
        table made;
        for (auto const& key : request.at("KeySchema").as_array()) {
            auto const& one = key.as_object();
            (one.at("KeyType").as_string() == "HASH" ? made.hash_key : made.sort_key) =
                std::string(one.at("AttributeName").as_string());
        }
        all[name] = made;
        return {200, R"({"TableDescription":{"TableStatus":"CREATING"}})"};
    }

    static reply describe(std::string const& name, table const& t)
    {
        json::array keys{json::object{{"AttributeName", t.hash_key}, {"KeyType", "HASH"}}};
        if (!t.sort_key.empty()) keys.push_back(json::object{{"AttributeName", t.sort_key}, {"KeyType", "RANGE"}});
        json::object about{{"TableStatus", "ACTIVE"},
            {"TableArn", "arn:aws:dynamodb:us-east-1:000000000000:table/" + name}, {"KeySchema", keys},
            {"ItemCount", t.items.size()}, {"TableSizeBytes", 0},
            {"BillingModeSummary", json::object{{"BillingMode", "PAY_PER_REQUEST"}}}};
        return {200, json::serialize(json::object{{"Table", about}})};
    }

    static reply describe_life(table const& t)
    {
        json::object about{{"TimeToLiveStatus", t.time_to_live.empty() ? "DISABLED" : "ENABLED"}};
        if (!t.time_to_live.empty()) about["AttributeName"] = t.time_to_live;
        return {200, json::serialize(json::object{{"TimeToLiveDescription", about}})};
    }

    static reply get(table const& t, json::object const& request)
    {
        auto const at = t.items.find(t.id_of(request.at("Key").as_object()));
        if (at == t.items.end()) return {};
        return {200, json::serialize(json::object{{"Item", at->second}})};
    }

    static reply write(std::string const& operation, table& t, json::object const& request)
    {
        auto const& key = request.at(operation == "PutItem" ? "Item" : "Key").as_object();
        auto const id = t.id_of(key);
        auto const at = t.items.find(id);
        auto const* const old = at == t.items.end() ? nullptr : &at->second;
        auto const names = member(request, "ExpressionAttributeNames");
        auto const values = member(request, "ExpressionAttributeValues");
        expressions const how(names, values);
        if (auto const* const condition = request.if_contains("ConditionExpression")) {
            if (!how.holds(condition->as_string(), old)) {
                auto out =
                    json::object{{"__type", "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"},
                        {"Message", "The conditional request failed"}};
                if (old && request.contains("ReturnValuesOnConditionCheckFailure")) out["Item"] = *old;
                return {400, json::serialize(out)};
            }
        }
        if (operation == "PutItem") {
            t.items[id] = key;
        } else if (operation == "UpdateItem") {
            auto item = old ? *old : key;
            how.set(request.at("UpdateExpression").as_string(), item);
            t.items[id] = std::move(item);
        } else if (operation == "DeleteItem") {
            t.items.erase(id);
        } else {
            return error("UnknownOperationException", operation);
        }
        return {};
    }

    // Of PartiQL: INSERT INTO "t" VALUE {'a': ?, …}; UPDATE "t" SET a=? SET b=? WHERE id=? AND c=?; DELETE FROM "t"
    // WHERE …

    static std::string unquoted(std::string word)
    {
        if (word.size() > 1 && (word.front() == '"' || word.front() == '\'')) return word.substr(1, word.size() - 2);
        return word;
    }

    struct parsed {
        std::string verb, table;
        json::object sets, where;
    };

    static parsed read(std::string_view text, json::array const& parameters)
    {
        expression_words words(text);
        std::size_t next = 0;
        auto const value = [&]() -> json::value {
            words.need("?");
            return parameters.at(next++);
        };
        parsed out;
        out.verb = words.take();
        if (out.verb == "INSERT") words.need("INTO");
        if (out.verb == "DELETE") words.need("FROM");
        out.table = unquoted(words.take());
        if (out.verb == "INSERT") {
            words.need("VALUE");
            words.need("{");
            do {
                auto const name = unquoted(words.take());
                words.need(":");
                out.sets[name] = value();
            } while (words.take_if(","));
            words.need("}");
        } else {
            while (words.take_if("SET")) {
                auto const name = unquoted(words.take());
                words.need("=");
                out.sets[name] = value();
            }
            words.need("WHERE");
            do {
                auto const name = unquoted(words.take());
                words.need("=");
                out.where[name] = value();
            } while (words.take_if("AND"));
        }
        if (!words.is_over() || next != parameters.size())
            throw std::invalid_argument("Statement wasn't well formed, can't be processed");
        return out;
    }

    static json::object refused(std::string const& code, json::object const* item)
    {
        json::object error{{"Code", code}, {"Message", code}};
        if (item) error["Item"] = *item;
        return json::object{{"Error", error}};
    }

    json::object execute(parsed const& what)
    {
        auto& t = all.at(what.table);
        auto const id = t.id_of(what.verb == "INSERT" ? what.sets : what.where);
        auto const at = t.items.find(id);
        if (what.verb == "INSERT") {
            if (at != t.items.end()) return refused("DuplicateItem", nullptr);
            t.items[id] = what.sets;
            return {};
        }
        if (at == t.items.end()) return refused("ConditionalCheckFailed", nullptr);
        for (auto const& [name, wanted] : what.where) {
            auto const* const is = at->second.if_contains(name);
            if (!is || *is != wanted) return refused("ConditionalCheckFailed", &at->second);
        }
        if (what.verb == "DELETE") {
            t.items.erase(at);
        } else {
            for (auto const& [name, to] : what.sets)
                at->second[name] = to;
        }
        return {};
    }

    reply batch(json::object const& request)
    {
        auto const& statements = request.at("Statements").as_array();
        if (statements.size() > 25)
            return error("ValidationException", "Member must have length less than or equal to 25");
        std::vector<parsed> parts;
        std::set<std::string> ids;
        for (auto const& one : statements) {
            auto const& s = one.as_object();
            json::array parameters;
            if (auto const* const given = s.if_contains("Parameters")) parameters = given->as_array();
            parts.push_back(read(s.at("Statement").as_string(), parameters));
            auto const& last = parts.back();
            auto const at = all.find(last.table);
            if (at == all.end()) return error("ResourceNotFoundException", "Requested resource not found");
            auto const id = at->second.id_of(last.verb == "INSERT" ? last.sets : last.where);
            if (!ids.insert(last.table + id).second)
                return error(
                    "ValidationException", "Transaction request cannot include multiple operations on one item");
        }
        json::array answers;
        for (auto const& part : parts)
            answers.push_back(execute(part));
        return {200, json::serialize(json::object{{"Responses", answers}})};
    }
};

} // namespace quern::test
