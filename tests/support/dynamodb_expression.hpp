#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cctype>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::test {

namespace json = boost::json;

/// The text of an expression of DynamoDB, word by word.
class expression_words {
public:
    explicit expression_words(std::string_view text)
    {
        for (std::size_t i = 0; i < text.size();) {
            auto const c = text[i];
            auto const begin = i;
            if (std::isspace(static_cast<unsigned char>(c))) {
                ++i;
                continue;
            }
            if (is_word(c)) {
                while (i < text.size() && is_word(text[i]))
                    ++i;
            } else if ((c == '<' || c == '>') && i + 1 < text.size() && (text[i + 1] == '=' || text[i + 1] == '>')) {
                i += 2;
            } else if (c == '"' || c == '\'') {
                i = text.find(c, i + 1) + 1;
            } else {
                ++i;
            }
            words_.emplace_back(text.substr(begin, i - begin));
        }
    }

    bool is_over() const { return at_ == words_.size(); }
    std::string peek() const { return is_over() ? std::string() : words_[at_]; }
    std::string take()
    {
        if (is_over()) throw std::invalid_argument("the expression ends early");
        return words_[at_++];
    }
    bool take_if(std::string_view word)
    {
        if (peek() != word) return false;
        ++at_;
        return true;
    }
    void need(std::string_view word)
    {
        if (!take_if(word)) throw std::invalid_argument("expected " + std::string(word) + ", not " + peek());
    }

private:
    static bool is_word(char c)
    {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '#' || c == ':' || c == '.';
    }

    std::vector<std::string> words_;
    std::size_t at_ = 0;
};

/// Evaluates conditions, and the SET and the REMOVE of updates, as DynamoDB does: `a = :b`, `<`, attribute_exists(a),
/// AND, OR, brackets.
class expressions {
public:
    expressions(json::object const& names, json::object const& values) : names_(names), values_(values) {}

    bool holds(std::string_view text, json::object const* item) const
    {
        static json::object const nothing;
        expression_words words(text);
        auto const out = any(words, item ? *item : nothing);
        if (!words.is_over()) throw std::invalid_argument("unexpected " + words.peek());
        return out;
    }

    void set(std::string_view text, json::object& item) const
    {
        expression_words words(text);
        bool const sets = words.take_if("SET");
        while (sets) {
            auto const name = name_of(words.take());
            words.need("=");
            item[name] = values_.at(words.take());
            if (!words.take_if(",")) break;
        }
        if (!sets) words.need("REMOVE");
        if (!sets || words.take_if("REMOVE")) {
            do {
                item.erase(name_of(words.take()));
            } while (words.take_if(","));
        }
        if (!words.is_over()) throw std::invalid_argument("unexpected " + words.peek());
    }

    std::string name_of(std::string const& word) const
    {
        if (!word.starts_with('#')) return word;
        return std::string(names_.at(word).as_string());
    }

private:
    bool any(expression_words& words, json::object const& item) const
    {
        bool out = all(words, item);
        while (words.take_if("OR"))
            out = all(words, item) || out;
        return out;
    }

    bool all(expression_words& words, json::object const& item) const
    {
        bool out = one(words, item);
        while (words.take_if("AND"))
            out = one(words, item) && out;
        return out;
    }

    bool one(expression_words& words, json::object const& item) const
    {
        if (words.take_if("(")) {
            auto const out = any(words, item);
            words.need(")");
            return out;
        }
        for (auto const& [function, wanted] :
            {std::pair("attribute_exists", true), {"attribute_not_exists", false}}) {
            if (!words.take_if(function)) continue;
            words.need("(");
            auto const is_there = item.contains(name_of(words.take()));
            words.need(")");
            return is_there == wanted;
        }
        auto const left = operand(words.take(), item);
        auto const compare = words.take();
        auto const right = operand(words.take(), item);
        if (!left || !right) return false; // a comparison with what is not there never holds
        return compares(left->as_object(), compare, right->as_object());
    }

    json::value const* operand(std::string const& word, json::object const& item) const
    {
        if (word.starts_with(':')) return &values_.at(word);
        return item.if_contains(name_of(word));
    }

    static bool compares(json::object const& a, std::string const& how, json::object const& b)
    {
        if (a.begin()->key() != b.begin()->key()) return how == "<>";
        auto const is_number = a.begin()->key() == "N";
        auto const text = [](json::object const& o) { return std::string(o.begin()->value().as_string()); };
        int order = text(a).compare(text(b));
        if (is_number) {
            auto const x = std::strtold(text(a).c_str(), nullptr), y = std::strtold(text(b).c_str(), nullptr);
            order = x < y ? -1 : x > y ? 1 : 0;
        }
        if (how == "=") return order == 0;
        if (how == "<>") return order != 0;
        if (how == "<") return order < 0;
        if (how == "<=") return order <= 0;
        if (how == ">") return order > 0;
        if (how == ">=") return order >= 0;
        throw std::invalid_argument("no comparison: " + how);
    }

    json::object const& names_;
    json::object const& values_;
};

} // namespace quern::test
