#include "relay/relay_file.hpp"

#include "common/backoff_text.hpp"
#include "common/duration_text.hpp"
#include "common/toml_reader.hpp"

#include <quern/core/detail/text/reading.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace quern::app {
namespace {

std::map<std::string_view, relay::action> const actions{{"ack", relay::action::ack}, {"retry", relay::action::retry},
    {"reject", relay::action::reject}, {"unavailable", relay::action::unavailable}, {"halt", relay::action::halt}};

/// Reads one document.
class relay_file_reader : private toml_reader {
public:
    relay_file_reader(std::string_view file, relay_settings& into) : toml_reader(file), into_(into) {}

    void read(std::string_view document)
    {
        auto const top = parse(document);
        for (auto const& [key, node] : top)
            if (key != "relay" && into_.option_keys.empty())
                refuse(key.source(), key.str(), "is not known here; write a table [relay]");
        auto const* const all = top.get("relay");
        if (!all) throw complaint{fmt::format("{}: has no table [relay]", file_)};
        read_table(own_table(*all, "relay"), "");
    }

private:
    toml::table const& own_table(toml::node const& node, std::string_view key) const
    {
        return table(node, key, fmt::format("[{}]", key));
    }

    /// `within`: the keys on the way from [relay], "tls.".
    void read_table(toml::table const& from, std::string const& within)
    {
        for (auto const& [key, node] : from) {
            auto const inner = within + std::string(key.str());
            auto const full = "relay." + inner;
            if (inner == "headers") {
                for (auto const& [name, value] : own_table(node, full))
                    check(value.source(), full + "." + std::string(name.str()),
                        set_header(into_, name.str(), simple(value, full)));
            } else if (inner == "rule") {
                read_rules(node);
            } else if (within.empty() &&
                (inner == "tls" || inner == "sign" || inner == "oauth2" || inner == "breaker" || inner == "health" ||
                    inner == "reply")) {
                read_table(own_table(node, full), inner + ".");
            } else {
                read_setting(key, node, inner);
            }
        }
    }

    void read_setting(toml::key const& key, toml::node const& node, std::string const& inner)
    {
        auto const full = "relay." + inner;
        auto const all = all_relay_settings();
        auto const known = std::ranges::find(all, inner, &relay_setting::key);
        if (std::ranges::count(into_.option_keys, inner) != 0 && known == all.end()) return;
        if (known == all.end() || inner == "header") refuse(key.source(), full, "is not known; there are " + names());
        if (auto const* const list = node.as_array(); list && is_list(inner)) {
            for (auto const& one : *list)
                check(one.source(), full, known->set(into_, simple(one, full)));
        } else {
            auto const* const fraction = node.as_floating_point();
            auto const value = fraction ? fmt::format("{}", fraction->get()) : simple(node, full);
            into_.said[inner] = value;
            check(node.source(), full, known->set(into_, value));
        }
    }

    static bool is_list(std::string_view key)
    {
        return key == "sign.secret_files" || key == "sign.ed25519_files" || key == "routes";
    }

    static std::string names()
    {
        std::string out = "headers, rule";
        for (auto const& setting : all_relay_settings())
            if (setting.key != "header") out += ", " + std::string(setting.key);
        return out;
    }

    void check(toml::source_region const& at, std::string_view key, std::string const& wrong) const
    {
        if (!wrong.empty()) refuse(at, key, wrong);
    }

    void read_rules(toml::node const& node)
    {
        auto const* const list = node.as_array();
        if (!list || !list->is_array_of_tables())
            refuse(node.source(), "relay.rule", "must be tables, [[relay.rule]] each");
        for (auto const& one : *list)
            into_.relay.outcome.lines.push_back(read_rule(*one.as_table()));
    }

    relay::rule_line read_rule(toml::table const& from) const
    {
        relay::rule_line out;
        for (auto const& [key, node] : from) {
            auto const full = "relay.rule." + std::string(key.str());
            auto const value = simple(node, full);
            if (key == "status") {
                auto set = relay::status_set::parse(value);
                if (!set) refuse(node.source(), full, "is wrong: " + set.error().message);
                out.status = *set;
            } else if (key == "do") {
                auto const found = actions.find(value);
                if (found == actions.end())
                    refuse(node.source(), full, "must be ack, retry, reject, unavailable or halt");
                out.what = found->second;
            } else if (key == "reason") {
                out.reason = value;
            } else if (key == "after") {
                out.after = duration_from(value);
                if (!out.after || *out.after > std::chrono::hours(12))
                    refuse(node.source(), full, "must be a duration up to 12h, 5m for one");
            } else if (key == "backoff") {
                auto by = backoff_from(value);
                if (!by) refuse(node.source(), full, by.error().message);
                out.by = std::move(*by);
            } else if (key == "tries") {
                auto const tries = quern::detail::text::number_in<int>(value);
                if (!tries || *tries < 1) refuse(node.source(), full, "must be a whole number from 1 on");
                out.tries = *tries;
            } else {
                refuse(key.source(), full, "is not known; there are status, do, reason, after, backoff, tries");
            }
        }
        if (out.status.is_empty()) refuse(from.source(), "relay.rule", "needs a status, \"409,422\" for one");
        if (!from.contains("do")) refuse(from.source(), "relay.rule", "needs do, \"reject\" for one");
        for (std::string_view const of_retry : {"after", "backoff", "tries"})
            if (from.contains(of_retry) && out.what != relay::action::retry)
                refuse(from.get(of_retry)->source(), "relay.rule." + std::string(of_retry),
                    "goes with do = \"retry\" alone");
        if (out.after && out.by) refuse(from.get("after")->source(), "relay.rule.after", "does not go with backoff");
        return out;
    }

    relay_settings& into_;
};

} // namespace

result<void> read_relay_settings(std::string_view document, std::string_view file, relay_settings& into)
{
    return read_toml("--config", [&] { relay_file_reader(file, into).read(document); });
}

result<void> load_relay_settings(std::string const& path, relay_settings& into)
{
    auto const text = text_of_file("--config", path);
    if (!text) return text.error();
    return read_relay_settings(*text, path, into);
}

} // namespace quern::app
