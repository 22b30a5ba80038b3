#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quern::detail::text {

inline constexpr std::string_view prometheus_type = "text/plain; version=0.0.4; charset=utf-8";

/// Appends `name="value"`, behind a comma where something stands before. `value` is UTF-8.
void append_label(std::string& to, std::string_view name, std::string_view value);

/// A page that Prometheus scrapes, in its text format 0.0.4 or in OpenMetrics 1.0: families one after the other, each
/// with its samples.
class prometheus_page {
public:
    enum class form { text, openmetrics };
    explicit prometheus_page(form how = form::text) : how_(how) {}

    /// Begins a family. `type`: "counter", whose name ends in _total, "gauge" or "histogram".
    void family(std::string_view name, std::string_view type, std::string_view help);

    /// Adds a sample to it. `labels`: as append_label() writes them; `ending`: of the name, "_bucket".
    void sample(std::string_view labels, std::string_view value, std::string_view ending = {});
    void sample(std::string_view labels, std::uint64_t value) { sample(labels, std::to_string(value)); }

    /// The upper bound of a bucket, from a number: with a point in OpenMetrics.
    std::string bound(std::string number) const;

    std::string take();

private:
    form const how_;
    std::string_view name_;
    std::string out_;
};

} // namespace quern::detail::text
