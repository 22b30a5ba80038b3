#include <quern/fleet/fleet_limit.hpp>

#include <quern/core/alarm.hpp>
#include <quern/core/detail/random_part.hpp>
#include <quern/core/detail/text/reading.hpp>
#include <quern/core/detail/throw_wrong.hpp>
#include <quern/fleet/detail/slice_rule.hpp>

#include <algorithm>
#include <cctype>
#include <random>
#include <utility>

namespace quern::fleet {

using namespace quern::detail;
namespace asio = boost::asio;
using namespace std::chrono_literals;
using services::attribute;

namespace {

constexpr std::string_view member_prefix = "m#";
constexpr char const* version_name = "version";

services::item key_of(fleet_item const& where)
{
    services::item out;
    out[where.key_name] = attribute::text(where.prefix + where.name);
    return out;
}

detail::item_state state_of(std::optional<services::item> const& found)
{
    detail::item_state out;
    if (!found) return out;
    for (auto const& [name, value] : *found)
        if (name.starts_with(member_prefix) && value.type == "S")
            out.members.emplace(name.substr(member_prefix.size()), value.value);
    auto const version = services::find(*found, version_name, "N").value_or("");
    out.version = text::number_in<std::int64_t>(version).value_or(0);
    return out;
}

services::update_item_request request_of(
    fleet_item const& where, std::string const& name, detail::item_write const& w)
{
    services::condition when;
    std::string set, remove;
    auto const put = [](std::string& to, std::string const& word, char const* verb) {
        to += (to.empty() ? verb : ", ") + word;
    };
    when.names["#m"] = std::string(member_prefix) + name;
    if (w.was.empty()) {
        when.text = "attribute_not_exists(#m)";
    } else {
        when.text = "#m = :was";
        when.values[":was"] = attribute::text(w.was);
    }
    if (w.becomes.empty()) {
        put(remove, "#m", "REMOVE ");
    } else {
        put(set, "#m = :m", "SET ");
        when.values[":m"] = attribute::text(w.becomes);
    }
    if (w.version) {
        when.names["#v"] = version_name;
        when.text += *w.version == 0 ? " AND attribute_not_exists(#v)" : " AND #v = :v";
        if (*w.version != 0) when.values[":v"] = attribute::number(*w.version);
        put(set, "#v = :next", "SET ");
        when.values[":next"] = attribute::number(*w.version + 1);
    }
    for (std::size_t i = 0; i < w.buried.size(); ++i) {
        auto const n = std::to_string(i);
        when.names["#b" + n] = std::string(member_prefix) + w.buried[i].first;
        when.values[":b" + n] = attribute::text(w.buried[i].second);
        when.text += " AND #b" + n + " = :b" + n;
        put(remove, "#b" + n, "REMOVE ");
    }
    if (!set.empty() && !remove.empty()) set += ' ';
    return {where.table, key_of(where), set + remove, std::move(when)};
}

std::string own_name(std::string const& member, std::mt19937_64& random)
{
    constexpr std::string_view letters = "abcdefghijkmnpqrstuvwxyz23456789";
    auto out = member + '-';
    for (int i = 0; i < 8; ++i)
        out += letters[random() % letters.size()];
    return out;
}

} // namespace

std::optional<failure> fleet_limit_options::validate() const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (item.table.empty() || item.name.empty()) return wrong("a fleet's item needs a table and a name");
    auto const good = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
            std::string_view("-._/").find(c) != std::string_view::npos;
    };
    if (member.empty() || member.size() > 100 || !std::ranges::all_of(member, good))
        return wrong("member must be 1 to 100 letters, digits and -._/");
    return all.validate();
}

struct fleet_limit::state {
    state(asio::any_io_executor ex, std::shared_ptr<services::dynamodb> c, fleet_limit_options o)
        : client(std::move(c)), options(std::move(o)), time(options.time ? *options.time : real_clock()),
          random(seeded(options.seed)), name(own_name(options.member, random)), rule(name, amounts_of(options.all)),
          log(options.log), wake(time, std::move(ex))
    {}

    /// Tells what may be used, if that has changed.
    void tell(std::function<void(amounts const&)> const& changed)
    {
        if (told == rule.slice()) return;
        told = rule.slice();
        changed(*told);
    }
    void failed(failure const& why)
    {
        rule.failed();
        log.write(log_level::warning, "fleet limit",
            "the slice stays " + to_string(rule.slice()) + ": " + describe(why), time.now());
    }

    asio::awaitable<std::optional<detail::item_write>> read(usage);
    asio::awaitable<void> write(detail::item_write);

    std::shared_ptr<services::dynamodb> const client;
    fleet_limit_options const options;
    clock& time;
    std::mt19937_64 random;
    std::string const name;
    detail::slice_rule rule;
    log_throttle log;
    alarm wake;
    std::optional<amounts> told;
    bool over = false;
};

asio::awaitable<std::optional<detail::item_write>> fleet_limit::state::read(usage used)
{
    services::get_item_request question(options.item.table, key_of(options.item));
    auto const found = co_await client->get_item(std::move(question));
    if (found) co_return rule.read(state_of(found->found), used, time.now());
    failed(found.error());
    co_return std::nullopt;
}

asio::awaitable<void> fleet_limit::state::write(detail::item_write what)
{
    auto request = request_of(options.item, name, what);
    auto const said = co_await client->update_item(std::move(request));
    if (!said)
        failed(said.error());
    else if (said->applied)
        rule.written(time.now());
    else
        rule.refused(state_of(said->found));
}

fleet_limit::fleet_limit(
    asio::any_io_executor ex, std::shared_ptr<services::dynamodb> client, fleet_limit_options options)
{
    throw_wrong(options.validate());
    state_ = std::make_unique<state>(std::move(ex), std::move(client), std::move(options));
}

fleet_limit::~fleet_limit() = default;

asio::awaitable<void> fleet_limit::run(
    std::function<void(amounts const&)> changed, std::function<asio::awaitable<usage>()> look)
{
    auto& s = *state_;
    s.tell(changed);
    while (!s.over) {
        s.rule.wake(s.time.now());
        s.tell(changed);
        usage used;
        if (look) used = co_await look();
        auto wanted = co_await s.read(used);
        s.tell(changed); // what shrinks, before it is written
        auto const next = s.time.now() + 1s + std::chrono::milliseconds(s.random() % 100); // apart from the others
        if (wanted) {
            co_await s.write(std::move(*wanted));
            s.tell(changed);
        }
        s.log.flush(s.time.now());
        if (s.over) break;
        co_await s.wake.wait(next);
    }
    auto last = s.rule.leave();
    s.tell(changed);
    if (last) co_await s.write(std::move(*last));
}

void fleet_limit::end()
{
    state_->over = true;
    state_->wake.ring();
}

amounts fleet_limit::slice() const
{
    return state_->rule.slice();
}

asio::awaitable<result<std::vector<member>>> members_of(services::dynamodb& client, fleet_item where)
{
    services::get_item_request question(where.table, key_of(where));
    auto const found = co_await client.get_item(std::move(question));
    if (!found) co_return found.error();
    std::vector<member> out;
    for (auto const& [name, text] : state_of(found->found).members)
        if (auto m = detail::member_from(name, text)) out.push_back(std::move(*m));
    co_return out;
}

} // namespace quern::fleet
