#pragma once

#include <quern/core/error.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace quern::app::sqlite {

/// A prepared statement. Values are bound in order, columns read in order; a view is good until the next step. After
/// an error all steps do nothing, and the connection knows the first one.
class connection;
class statement {
public:
    statement(connection&, char const* sql);
    ~statement();
    statement(statement const&) = delete;
    statement& operator=(statement const&) = delete;

    statement& bind(std::int64_t);
    statement& bind(std::uint64_t value) { return bind(static_cast<std::int64_t>(value)); }
    statement& bind(int value) { return bind(static_cast<std::int64_t>(value)); }
    statement& bind(std::string_view bytes); ///< which stay until the statement has run

    /// Runs it to its end.
    void run();
    /// The next row; false after the last one.
    bool next();

    std::int64_t integer();
    std::string_view bytes();

private:
    connection& in_;
    sqlite3_stmt* handle_ = nullptr;
    int bound_ = 0, column_ = 0;
};

/// A database. The first error stays.
class connection {
public:
    explicit connection(std::string const& path);
    ~connection();
    connection(connection const&) = delete;
    connection& operator=(connection const&) = delete;

    void run(char const* sql);            ///< any number of statements, without values
    std::int64_t number(char const* sql); ///< first column of the first row; 0: none

    int error() const { return error_; } ///< SQLite's code; 0: none
    std::string const& message() const { return message_; }

private:
    friend class statement;
    void note(int code);

    sqlite3* handle_ = nullptr;
    int error_ = 0;
    std::string message_;
};

} // namespace quern::app::sqlite
