#include "common/sqlite.hpp"

#include <sqlite3.h>

#include <utility>

namespace quern::app::sqlite {

connection::connection(std::string const& path)
{
    note(::sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr));
}

connection::~connection()
{
    ::sqlite3_close_v2(handle_);
}

void connection::note(int code)
{
    if (error_ != 0 || code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
    error_ = code;
    message_ = handle_ ? ::sqlite3_errmsg(handle_) : ::sqlite3_errstr(code);
}

void connection::run(char const* sql)
{
    if (error_ == 0) note(::sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr));
}

std::int64_t connection::number(char const* sql)
{
    statement one(*this, sql);
    return one.next() ? one.integer() : 0;
}

statement::statement(connection& in, char const* sql) : in_(in)
{
    if (in_.error_ == 0)
        in_.note(::sqlite3_prepare_v3(in_.handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &handle_, nullptr));
}

statement::~statement()
{
    ::sqlite3_finalize(handle_);
}

void statement::bind_integer(std::int64_t value)
{
    if (in_.error_ == 0) in_.note(::sqlite3_bind_int64(handle_, ++bound_, value));
}

void statement::bind(std::string_view bytes)
{
    auto const* const at = bytes.empty() ? "" : bytes.data(); // null would be NULL
    if (in_.error_ == 0) in_.note(::sqlite3_bind_blob64(handle_, ++bound_, at, bytes.size(), SQLITE_STATIC));
}

void statement::bind(wall_time at)
{
    bind_integer(std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count());
}

bool statement::next()
{
    column_ = 0;
    bound_ = 0;
    if (in_.error_ != 0) return false;
    auto const code = ::sqlite3_step(handle_);
    in_.note(code);
    if (code == SQLITE_ROW) return true;
    ::sqlite3_reset(handle_);
    return false;
}

void statement::read(wall_time& to)
{
    to = wall_time(std::chrono::duration_cast<wall_time::duration>(std::chrono::nanoseconds(integer())));
}

std::int64_t statement::integer()
{
    return ::sqlite3_column_int64(handle_, column_++);
}

std::string_view statement::bytes()
{
    auto const column = column_++;
    auto const* const at = static_cast<char const*>(::sqlite3_column_blob(handle_, column));
    return {at, static_cast<std::size_t>(::sqlite3_column_bytes(handle_, column))};
}

} // namespace quern::app::sqlite
