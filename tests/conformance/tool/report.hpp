#pragma once

#include <string>
#include <string_view>

namespace quern::conformance {

/// Counts cases and says on standard output what was wrong with those that failed.
class report {
public:
    int passed() const { return passed_; }
    int failed() const { return failed_; }
    int skipped() const { return skipped_; }

    /// A case that says nothing about this program, and why. It counts as neither passed nor failed.
    void skip(std::string_view what, std::string_view why);

private:
    friend class checked_case;
    int passed_ = 0;
    int failed_ = 0;
    int skipped_ = 0;
};

/// One case, from construction to destruction: passed unless something in it differed.
class checked_case {
public:
    checked_case(report& to, std::string name) : to_(to), name_(std::move(name)) {}
    checked_case(checked_case const&) = delete;
    ~checked_case();

    void equal(std::string_view what, std::string_view expected, std::string_view actual);
    void equal_number(std::string_view what, double expected, double actual);
    void equal_flag(std::string_view what, bool expected, bool actual);
    void fail(std::string_view why);

private:
    void heading();

    report& to_;
    std::string name_;
    bool failed_ = false;
};

} // namespace quern::conformance
