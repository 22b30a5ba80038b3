#include "report.hpp"

#include <fmt/core.h>

#include <cmath>

namespace quern::conformance {
namespace {

/// Texts of several lines start on a line of their own.
std::string shown(std::string_view text)
{
    if (text.find('\n') == text.npos) return '"' + std::string(text) + '"';
    std::string out = "\n        ";
    for (auto const c : text) {
        out.push_back(c);
        if (c == '\n') out += "        ";
    }
    return out;
}

} // namespace

void report::skip(std::string_view what, std::string_view why)
{
    ++skipped_;
    fmt::print("skipped {}: {}\n", what, why);
}

checked_case::~checked_case()
{
    ++(failed_ ? to_.failed_ : to_.passed_);
}

void checked_case::heading()
{
    if (!failed_) fmt::print("FAILED {}\n", name_);
    failed_ = true;
}

void checked_case::equal(std::string_view what, std::string_view expected, std::string_view actual)
{
    if (expected == actual) return;
    heading();
    fmt::print("    {}\n      expected: {}\n      actual:   {}\n", what, shown(expected), shown(actual));
}

void checked_case::equal_number(std::string_view what, double expected, double actual)
{
    if (std::abs(expected - actual) <= 1e-9 * std::max(1.0, std::abs(expected))) return;
    equal(what, fmt::format("{}", expected), fmt::format("{}", actual));
}

void checked_case::equal_flag(std::string_view what, bool expected, bool actual)
{
    equal(what, expected ? "true" : "false", actual ? "true" : "false");
}

void checked_case::fail(std::string_view why)
{
    heading();
    fmt::print("    {}\n", why);
}

} // namespace quern::conformance
