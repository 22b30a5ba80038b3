#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quern::detail::text {

/// Appends JSON to a string, without a tree in between. Commas are its business, nesting is the caller's.
class json_writer {
public:
    explicit json_writer(std::string& to) : to_(to) {}

    json_writer& begin_object() { return open('{'); }
    json_writer& end_object() { return close('}'); }
    json_writer& begin_array() { return open('['); }
    json_writer& end_array() { return close(']'); }

    json_writer& key(std::string_view name);
    json_writer& plain_key(std::string_view name); ///< of which it is known that nothing in it needs an escape

    json_writer& string(std::string_view utf8);
    json_writer& base64(std::string_view bytes); ///< as a string
    json_writer& integer(std::int64_t);
    json_writer& boolean(bool);
    json_writer& number(std::string_view literal); ///< as it is
    json_writer& number(double);                   ///< in no more digits than it takes to read the same again

    json_writer& member(std::string_view name, std::string_view utf8) { return key(name).string(utf8); }
    json_writer& member(std::string_view name, char const* utf8) { return key(name).string(utf8); }
    json_writer& member(std::string_view name, std::int64_t value) { return key(name).integer(value); }
    json_writer& member(std::string_view name, std::uint64_t count) { return member(name, std::int64_t(count)); }
    json_writer& member(std::string_view name, int value) { return key(name).integer(value); }
    json_writer& member(std::string_view name, bool value) { return key(name).boolean(value); }

private:
    json_writer& open(char);
    json_writer& close(char);
    void separate();

    std::string& to_;
    bool comma_ = false; ///< something stands before at this level
};

/// Appends `utf8` between quotes, escaped as RFC 8259, 7 demands and no further.
void append_json_string(std::string& to, std::string_view utf8);

} // namespace quern::detail::text
