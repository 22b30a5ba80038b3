#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

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

    /// Runs it to its end with these values: numbers, times, which become nanoseconds since 1970, and bytes.
    template <class... Values>
    void run(Values const&... values)
    {
        (bind(values), ...);
        while (next()) {
        }
    }

    /// The next row; false after the last one.
    bool next();

    /// Reads columns.
    template <class... To>
    void get(To&... to)
    {
        (read(to), ...);
    }
    std::int64_t integer();
    std::string_view bytes();

private:
    void bind_integer(std::int64_t);
    void bind(std::string_view bytes);
    void bind(wall_time);
    template <class Number>
        requires std::is_integral_v<Number> || std::is_enum_v<Number>
    void bind(Number value) { bind_integer(static_cast<std::int64_t>(value)); }

    void read(std::string_view& to) { to = bytes(); }
    void read(std::string& to) { to = bytes(); }
    void read(wall_time&);
    void read(bool& to) { to = integer() != 0; }
    template <class Number>
        requires std::is_integral_v<Number> || std::is_enum_v<Number>
    void read(Number& to) { to = static_cast<Number>(integer()); }

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
