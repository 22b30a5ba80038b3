#include "target.hpp"

#include <quern/flags/detail/pointed_at.hpp>
#include <quern/policy/flag.hpp>

#include <string>

namespace quern::fuzz {

using namespace quern::flags::detail;

void flag_text(std::string_view bytes)
{
    auto const half = bytes.find('\x1e'); // what stands behind this character is a pointer
    auto const text = bytes.substr(0, half);
    policy::read_flag(text);
    policy::read_flag(text, "orders");
    std::string const pointer(half == bytes.npos ? "/orders" : bytes.substr(half + 1));
    if (!check_pointer(pointer).empty()) return;
    auto const found = pointed_at(text, pointer);
    if (found) policy::read_flag(*found);
    must(pointed_at(text, "").value() == text, "without a pointer a text is itself");
}

} // namespace quern::fuzz
