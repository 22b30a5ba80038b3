#include "consume/settings_file.hpp"

#include "common/rate_text.hpp"
#include "common/toml_reader.hpp"

namespace quern::app {
namespace {

class settings_reader : private toml_reader {
public:
    explicit settings_reader(std::string_view file) : toml_reader(file) {}

    consumer_limits read(std::string_view document)
    {
        auto const top = parse(document);
        consumer_limits out;
        for (auto const& [key, node] : top) {
            if (key == "max_in_flight")
                out.max_in_flight = count(key.str(), node, 1);
            else if (key == "max_bytes_in_flight")
                out.max_bytes_in_flight = count(key.str(), node, 0);
            else if (key == "max_polls")
                out.max_polls = count(key.str(), node, 1);
            else if (key == "handler_concurrency")
                out.handler_concurrency = count(key.str(), node, 0);
            else if (key == "rate")
                out.rate = rate(node);
            else if (key != "burst")
                refuse(key.source(), key.str(),
                    "is not known; there are max_in_flight, max_bytes_in_flight, rate, burst, max_polls, "
                    "handler_concurrency");
            if (auto const wrong = out.validate()) refuse(node.source(), "is refused:", wrong->message);
        }
        if (auto const* const burst = top.get("burst")) {
            if (!out.rate) refuse(burst->source(), "burst", "needs a rate beside it");
            out.rate->burst = number(*burst, "burst", 1, 1'000'000);
        }
        return out;
    }

private:
    std::size_t count(std::string_view key, toml::node const& node, std::int64_t least) const
    {
        return static_cast<std::size_t>(number(node, key, least, std::int64_t(1) << 50));
    }

    policy::rate rate(toml::node const& node) const
    {
        auto const said = node.is_integer() ? std::to_string(node.as_integer()->get()) : text(node, "rate");
        auto const out = rate_from(said);
        if (!out) refuse(node.source(), "rate", check_rate(said));
        return *out;
    }
};

} // namespace

result<consumer_limits> limits_from(std::string_view document, std::string_view file)
{
    return read_toml("--settings", [&] { return settings_reader(file).read(document); });
}

result<consumer_limits> load_limits(std::string const& path)
{
    auto const text = text_of_file("--settings", path);
    if (!text) return text.error();
    return limits_from(*text, path);
}

} // namespace quern::app
