#include "common/settings_sources.hpp"

#include "common/toml_reader.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unistd.h>

namespace quern::app {
namespace {

std::string replaced(std::string_view text, char from, char to)
{
    std::string out(text);
    std::ranges::replace(out, from, to);
    return out;
}

std::string upper(std::string_view text)
{
    auto out = replaced(text, '-', '_');
    for (auto& c : out)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return out;
}

std::size_t edits_between(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), 0u);
    for (std::size_t i = 0; i < a.size(); ++i) {
        auto diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); ++j) {
            auto const change = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = std::exchange(row[j + 1], std::min({change, row[j] + 1, row[j + 1] + 1}));
        }
    }
    return row.back();
}

known_option const* find(std::vector<known_option> const& all, std::string_view key)
{
    auto const name = replaced(key, '_', '-');
    auto const found = std::ranges::find(all, name, &known_option::name);
    return found == all.end() ? nullptr : &*found;
}

class settings_reader : private toml_reader {
public:
    settings_reader(std::string_view file, wanted_settings const& wanted) : toml_reader(file), wanted_(wanted) {}

    std::vector<said_setting> read(std::string_view document)
    {
        auto const top = parse(document);
        auto known = keys_of(wanted_.of_program);
        known.insert(known.end(), wanted_.commands.begin(), wanted_.commands.end());
        toml::table const* mine = nullptr;
        for (auto const& [key, node] : top) {
            if (auto const* const option = find(wanted_.of_program, key.str()))
                take(*option, key.str(), node);
            else if (!wanted_.path.empty() && key == wanted_.path.front())
                mine = &table(node, key.str(), fmt::format("[{}]", key.str()));
            else if (std::ranges::count(wanted_.commands, key.str()) == 0)
                refuse(key.source(), key.str(), "is not known" + did_you_mean(key.str(), known));
        }
        std::string name = wanted_.path.empty() ? "" : wanted_.path.front();
        for (std::size_t i = 1; mine && i < wanted_.path.size(); ++i) {
            auto const* const inner = mine->get(wanted_.path[i]);
            name += '.' + wanted_.path[i];
            mine = inner ? &table(*inner, name, fmt::format("[{}]", name)) : nullptr;
        }
        if (mine) read_command(*mine, name);
        return std::move(said_);
    }

private:
    void read_command(toml::table const& from, std::string const& name)
    {
        for (auto const& [key, node] : from) {
            auto const full = fmt::format("{}.{}", name, key.str());
            if (wanted_.read_elsewhere && wanted_.read_elsewhere(key.str())) continue;
            auto const* const option = find(wanted_.of_command, key.str());
            if (!option && node.is_table() && wanted_.path.size() == 1 && !wanted_.read_elsewhere) continue;
            auto const meant = option ? "" : did_you_mean(key.str(), keys_of(wanted_.of_command));
            if (!option && meant.empty() && wanted_.read_elsewhere) continue; // he knows what there is
            if (!option) refuse(key.source(), full, "is not known" + meant);
            take(*option, full, node);
        }
    }

    void take(known_option const& option, std::string_view key, toml::node const& node)
    {
        said_setting out{option, {}, spot(node.source())};
        if (auto const* const list = node.as_array(); list && option.is_list) {
            for (auto const& one : *list)
                out.values.push_back(value(one, key));
        } else {
            out.values.push_back(value(node, key));
        }
        if (option.is_flag && out.values != std::vector<std::string>{"true"} &&
            out.values != std::vector<std::string>{"false"})
            refuse(node.source(), key, "must be true or false");
        said_.push_back(std::move(out));
    }

    std::string value(toml::node const& node, std::string_view key) const
    {
        if (auto const* const fraction = node.as_floating_point()) return fmt::format("{}", fraction->get());
        return simple(node, key);
    }

    wanted_settings const& wanted_;
    std::vector<said_setting> said_;
};

bool is_of_kubernetes(std::string_view rest, std::string const& value)
{
    return rest.starts_with("SERVICE_") || rest.starts_with("PORT_") ||
        (rest == "PORT" && value.find("://") != value.npos);
}

} // namespace

std::vector<std::string> keys_of(std::vector<known_option> const& all)
{
    std::vector<std::string> out;
    for (auto const& one : all)
        out.push_back(replaced(one.name, '-', '_'));
    return out;
}

std::optional<std::string> nearest(std::string_view word, std::vector<std::string> const& of)
{
    std::optional<std::string> out;
    auto const even = replaced(word, '_', '-');
    auto least = std::max<std::size_t>(2, word.size() / 3) + 1;
    for (auto const& one : of) {
        auto const to = replaced(one, '_', '-');
        auto edits = edits_between(even, to);
        if (edits > 2 && even.size() >= 4 && to.ends_with('-' + even)) edits = 2; // concurrency: handler-concurrency
        if (edits < least) {
            least = edits;
            out = one;
        }
    }
    return out;
}

std::string did_you_mean(std::string_view word, std::vector<std::string> const& of)
{
    auto const meant = nearest(word, of);
    return meant ? ", did you mean " + *meant + '?' : "";
}

result<std::vector<said_setting>> settings_in_document(
    std::string_view document, std::string_view file, wanted_settings const& wanted)
{
    return read_toml("--config", [&] { return settings_reader(file, wanted).read(document); });
}

std::vector<said_setting> settings_in_environment(aws::environment const& variable,
    std::vector<std::string> const& names, wanted_settings const& wanted, std::vector<std::string>& warnings)
{
    std::vector<said_setting> out;
    std::set<std::string> meant;
    auto const take = [&](known_option const& one, std::string const& name) {
        meant.insert(name);
        auto const value = variable(name.c_str());
        if (value.empty() || one.is_positional) return;
        if (one.name == "port" && is_of_kubernetes("PORT", value)) return;
        said_setting said{one, {}, name};
        for (std::size_t at = 0; one.is_list && at < value.size();) {
            auto const end = std::min(value.find('\n', at), value.size());
            if (end != at) said.values.push_back(value.substr(at, end - at));
            at = end + 1;
        }
        if (!one.is_list) said.values.push_back(value);
        if (one.is_flag && value != "true" && value != "false") {
            warnings.push_back(name + " must be true or false, and counts for nothing");
            return;
        }
        out.push_back(std::move(said));
    };
    for (auto const& one : wanted.of_program)
        take(one, "QUERN_" + upper(one.name));
    if (wanted.path.empty()) return out;
    std::string prefix = "QUERN_";
    for (auto const& part : wanted.path)
        prefix += upper(part) + '_';
    std::vector<std::string> all;
    for (auto const& one : wanted.of_command) {
        take(one, prefix + upper(one.name));
        all.push_back(prefix + upper(one.name));
    }
    for (auto const& name : names) {
        if (!name.starts_with(prefix) || meant.contains(name)) continue;
        if (is_of_kubernetes(std::string_view(name).substr(prefix.size()), variable(name.c_str()))) continue;
        warnings.push_back("the variable " + name + " is not known" + did_you_mean(name, all));
    }
    return out;
}

std::vector<std::string> changed_settings(
    std::vector<said_setting> const& before, std::vector<said_setting> const& after)
{
    std::map<std::string, std::vector<std::string>> was, is;
    for (auto const& one : before)
        was[one.what.name] = one.values;
    for (auto const& one : after)
        is[one.what.name] = one.values;
    std::set<std::string> out;
    for (auto const& [name, values] : was)
        if (!is.contains(name) || is[name] != values) out.insert(name);
    for (auto const& [name, values] : is)
        if (!was.contains(name)) out.insert(name);
    return {out.begin(), out.end()};
}

std::vector<std::string> all_variable_names()
{
    std::vector<std::string> out;
    for (char** at = ::environ; at && *at; ++at) {
        std::string_view const entry(*at);
        out.emplace_back(entry.substr(0, entry.find('=')));
    }
    return out;
}

} // namespace quern::app
