#include "consume/settings_file.hpp"

#include "common/rate_text.hpp"
#include "common/toml_reader.hpp"

namespace quern::app {
namespace {

class limits_reader : private toml_reader {
public:
    explicit limits_reader(std::string_view file) : toml_reader(file) {}

    /// Turns what the document names.
    consumer_limits read(std::string_view document, consumer_limits out)
    {
        auto const top = parse(document);
        for (auto const& [key, node] : top) {
            if (key == "max_in_flight")
                out.max_in_flight = count(key.str(), node);
            else if (key == "max_bytes_in_flight")
                out.max_bytes_in_flight = count_or_none(key.str(), node);
            else if (key == "max_polls")
                out.max_polls = count(key.str(), node);
            else if (key == "handler_concurrency")
                out.handler_concurrency = count_or_none(key.str(), node);
            else if (key == "rate")
                out.rate = rate(node);
            else if (key != "burst")
                refuse(key.source(), key.str(),
                    "is not known; there are max_in_flight, max_bytes_in_flight, rate, burst, max_polls, "
                    "handler_concurrency");
            if (auto const wrong = out.validate()) refuse(node.source(), "is refused:", wrong->message);
        }
        if (auto const* const burst = top.get("burst")) {
            if (!out.rate) refuse(burst->source(), "burst", "needs a rate");
            out.rate->burst = number(*burst, "burst", 1, 1'000'000);
        }
        return out;
    }

private:
    static bool is_none(toml::node const& node) { return node.value<std::string_view>() == "none"; }

    std::size_t count(std::string_view key, toml::node const& node) const
    {
        return static_cast<std::size_t>(number(node, key, 1, std::int64_t(1) << 50));
    }

    std::optional<std::size_t> count_or_none(std::string_view key, toml::node const& node) const
    {
        return is_none(node) ? std::nullopt : std::optional(count(key, node));
    }

    std::optional<policy::rate> rate(toml::node const& node) const
    {
        if (is_none(node)) return {};
        auto const said = node.is_integer() ? std::to_string(node.as_integer()->get()) : text(node, "rate");
        auto const out = rate_from(said);
        if (!out) refuse(node.source(), "rate", check_rate(said));
        return out;
    }
};

} // namespace

result<consumer_limits> limits_from(std::string_view document, std::string_view file, consumer_limits const& base)
{
    return read_toml("--settings", [&] { return limits_reader(file).read(document, base); });
}

result<consumer_limits> load_limits(std::string const& path, consumer_limits const& base)
{
    auto const text = text_of_file("--settings", path);
    if (!text) return text.error();
    return limits_from(*text, path, base);
}

} // namespace quern::app
